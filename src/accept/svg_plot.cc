#include "accept/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "accept/markup.h"

namespace hstu {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 300;
constexpr double kLeft = 70;
constexpr double kRight = 180;  // the legend
constexpr double kTop = 20;
constexpr double kBottom = 50;
constexpr int kTicks = 5;
// Told apart by those who see few colours too (Okabe and Ito 2008).
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

struct Range {
  double x = 0;
  double y = 0;
};

// The next 1, 2 or 5 times a power of ten.
double RoundStep(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (step <= factor * power) return factor * power;
  }
  return 10.0 * power;
}

double RoundRange(double largest) {
  return largest > 0 ? RoundStep(largest / kTicks) * kTicks : 1.0;
}

Range RangeOf(const Plot& plot) {
  Range range;
  for (const Curve& curve : plot.curves) {
    for (const auto& [x, y] : curve.points) {
      range.x = std::max(range.x, x);
      range.y = std::max(range.y, y);
    }
  }
  return {RoundRange(range.x), RoundRange(range.y)};
}

double X(const Range& range, double x) { return kLeft + x / range.x * (kWidth - kLeft - kRight); }

double Y(const Range& range, double y) {
  return kHeight - kBottom - y / range.y * (kHeight - kTop - kBottom);
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     EscapeMarkup(text));
}

std::string Axes(const Plot& plot, const Range& range) {
  std::string svg;
  for (int i = 0; i <= kTicks; ++i) {
    const double x = range.x * i / kTicks;
    const double y = range.y * i / kTicks;
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" "
        "y2=\"{:.1f}\"/>\n",
        kLeft, kWidth - kRight, Y(range, y), Y(range, y));
    svg += Text(kLeft - 6, Y(range, y) + 4, "end", fmt::format("{:g}", y));
    svg += Text(X(range, x), kHeight - kBottom + 16, "middle", fmt::format("{:g}", x));
  }
  svg += Text((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", plot.x_title);
  return svg + fmt::format(
                   "<text transform=\"translate(16 {:.1f}) rotate(-90)\" "
                   "text-anchor=\"middle\">{}</text>\n",
                   (kTop + kHeight - kBottom) / 2, EscapeMarkup(plot.y_title));
}

std::string Draw(const Curve& curve, const Range& range, const char* colour) {
  std::string points;
  std::string marks;
  for (const auto& [x, y] : curve.points) {
    points += fmt::format("{:.1f},{:.1f} ", X(range, x), Y(range, y));
    marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n",
                         X(range, x), Y(range, y), colour);
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n",
                     colour, points) +
         marks;
}

}  // namespace

std::string SvgPlot(const Plot& plot) {
  const Range range = RangeOf(plot);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" width=\"{}\" role=\"img\" "
      "aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\">\n",
      kWidth, kHeight, kWidth, EscapeMarkup(plot.title));
  svg += Axes(plot, range);
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const char* colour = kColours[i % kColours.size()];
    svg += Draw(plot.curves[i], range, colour);
    const double y = kTop + 10 + 18 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"4\" fill=\"{}\"/>\n",
                       kWidth - kRight + 12, y - 4, colour);
    svg += Text(kWidth - kRight + 30, y + 2, "start", plot.curves[i].name);
  }
  return svg + "</svg>\n";
}

}  // namespace hstu
