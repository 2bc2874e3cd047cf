// A plot as a piece of SVG.
#ifndef HSTU_ACCEPT_SVG_PLOT_H_
#define HSTU_ACCEPT_SVG_PLOT_H_

#include <string>

#include "accept/report.h"

namespace hstu {

// Axes begin at 0. A curve of one point is a mark.
std::string SvgPlot(const Plot& plot);

}  // namespace hstu

#endif  // HSTU_ACCEPT_SVG_PLOT_H_
