# libhstu.so with the public API alone, and what `cmake --install` puts where.
include(CMakePackageConfigHelpers)

# The folders with the API whole, of the others what these need.
add_library(hstu_shared SHARED $<TARGET_OBJECTS:hstu_base> $<TARGET_OBJECTS:hstu_engine>)
add_library(hstu::hstu ALIAS hstu_shared)
set_target_properties(hstu_shared PROPERTIES
  OUTPUT_NAME hstu
  EXPORT_NAME hstu
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  # Where libhstu_mpi.so is.
  BUILD_RPATH "$ORIGIN"
  INSTALL_RPATH "$ORIGIN"
)
target_link_libraries(hstu_shared PRIVATE hstu_engine)
# Hidden visibility leaves the templates of other libraries' headers; these go as well.
target_link_options(hstu_shared PRIVATE
  "LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/libhstu.map")
set_property(TARGET hstu_shared APPEND PROPERTY
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libhstu.map)
target_include_directories(hstu_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
)

install(TARGETS hstu_shared EXPORT hstuTargets)
install(TARGETS hstu_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET hstu_binary)
  install(TARGETS hstu_binary)
endif()
install(DIRECTORY include/hstu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hstu)
install(EXPORT hstuTargets FILE hstuConfig.cmake NAMESPACE hstu:: DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hstuConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hstuConfigVersion.cmake DESTINATION ${package_dir})

# The prefix as seen from the .pc file, so that an installed tree may be moved.
file(RELATIVE_PATH HSTU_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/hstu.pc.in ${PROJECT_BINARY_DIR}/hstu.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hstu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
