# Records what R makes of a few series: acf() and stl() with our settings. Run with R 4.2 or later and the package jsonlite:
#   Rscript series.R > series.json
set.seed(2030)
day <- function(n) pmax(0, 20 + 15 * sin(2 * pi * (seq_len(n) - 14) / 48))
series <- list(
  people = rpois(240, day(240)),
  square = rep(c(rep(30, 17), rep(0, 9)), length.out = 240) + rpois(240, 1),
  walk = round(100 + cumsum(rnorm(250, 0, 4))),
  short = rpois(97, day(97)),
  week = rpois(336, day(336) * rep(c(rep(1, 5), 0.3, 0.3), each = 48)),
  extreme = c(rep(0, 119), 1e9, rep(0, 120))
)
record <- function(x) {
  parts <- stl(ts(x, frequency = 48), s.window = 13, s.degree = 0, t.window = 13, t.degree = 1, l.window = 49, l.degree = 1,
               s.jump = 1, t.jump = 1, l.jump = 1, robust = FALSE, inner = 2, outer = 0)$time.series
  list(series = x,
       acf = as.numeric(acf(x, lag.max = min(96, length(x) %/% 2), plot = FALSE)$acf)[-1],
       season = as.numeric(parts[, "seasonal"]), trend = as.numeric(parts[, "trend"]))
}
cat(jsonlite::toJSON(lapply(series, record), digits = I(10), auto_unbox = TRUE))
