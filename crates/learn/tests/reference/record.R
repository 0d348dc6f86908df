# Records loess.json, which tests/it/loess.rs holds our local regression against.
#
# Run in this folder with R 4.2.2 and no packages: Rscript record.R

numbers <- function(values) paste0("[", paste(sprintf("%.15g", values), collapse = ","), "]")

case <- function(name, x, y, at, span, degree) {
  fit <- suppressWarnings(loess(y ~ x, span = span, degree = degree,
    control = loess.control(surface = "direct")))
  expected <- predict(fit, data.frame(x = at))
  stopifnot(all(is.finite(expected)))
  sprintf("{\"name\":\"%s\",\"span\":%.17g,\"degree\":%d,\"x\":%s,\"y\":%s,\"at\":%s,\"expected\":%s}",
    name, span, degree, numbers(x), numbers(y), numbers(at), numbers(expected))
}

set.seed(20240601)
wave_x <- round(sort(runif(60, 0, 10)), 4)
wave_y <- round(sin(wave_x) + rnorm(60, 0, 0.3), 4)
class_x <- round(rnorm(80, 5, 2), 3)
class_y <- as.numeric(runif(80) < plogis(class_x - 5))
tied_x <- rep(c(0, 1, 2, 3, 5, 8, 13, 21), times = c(9, 5, 6, 4, 5, 3, 4, 4))
tied_y <- round(rnorm(40, tied_x), 3)
far_x <- round(1e9 + rnorm(30), 3)
far_y <- round(rnorm(30, 100, 20), 2)

cases <- c()
for (degree in 0:2) {
  for (span in c(0.29, 0.5, 0.75, 1, 1.6)) {
    cases <- c(cases,
      case("wave", wave_x, wave_y, seq(-1, 11, length.out = 9), span, degree),
      case("class", class_x, class_y, seq(0, 10, length.out = 9), span, degree),
      case("far", far_x, far_y, seq(1e9 - 2, 1e9 + 2, length.out = 9), span, degree))
  }
  cases <- c(cases, case("ties", tied_x, tied_y, c(0.5, 1.5, 2, 4, 8, 20), 0.75, degree))
}
writeLines(c("[", paste(cases, collapse = ",\n"), "]"), "loess.json")
