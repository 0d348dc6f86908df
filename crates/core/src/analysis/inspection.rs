//! One window of the source that is looked at closely: what every rule says, and what was counted.

use std::cell::RefCell;

use cattlegrid_learn::series::Scratch;

use super::finish::Court;
use crate::detectors::SPECS;
use crate::detectors::inspect_shape;
use crate::evidence::Context;
use crate::profile::BIN_SECONDS;
use crate::profile::Profile;
use crate::report::ShapeInspection;
use crate::report::WindowInspection;
use crate::request::Source;
use crate::table::Window;

impl Court<'_> {
    pub(super) fn inspect(
        &self,
        source: Source,
        window: Window,
        profile: &Profile,
        scratch: &RefCell<Scratch>,
    ) -> WindowInspection {
        let context = self.context(source, window, scratch);
        let rules = SPECS.iter().zip(&self.settings.detectors);
        WindowInspection {
            start: self.clock.span(window).0,
            host: self.host(window),
            outcomes: rules
                .map(|(spec, detector)| (spec.name, detector.evaluate(profile, &context)))
                .collect(),
            numbers: profile.numbers(),
            series: profile.bins.dense(self.clock.bins as usize),
            shape: self.inspect_shape(profile, &context, window),
        }
    }

    fn inspect_shape(
        &self,
        profile: &Profile,
        context: &Context<'_>,
        window: Window,
    ) -> Option<ShapeInspection> {
        let (first, counts, shape) = inspect_shape(profile, context)?;
        let total: f64 = counts.iter().sum();
        let in_requests = |part: &[f64]| part.iter().map(|share| share * total).collect();
        let model = context.model;
        Some(ShapeInspection {
            start: self.clock.span(window).0 + first as u32 * BIN_SECONDS,
            season: in_requests(&shape.parts.season),
            trend: in_requests(&shape.parts.trend),
            rest: in_requests(&shape.parts.rest),
            values: shape.describe(),
            votes: model.map(|model| model.shape.votes(&shape.values).all()),
            dispersion: shape.dispersion,
            coefficients: shape.correlation.coefficients,
            errors: shape.correlation.errors,
            counts,
        })
    }
}
