//! What draws a scene. Nothing here computes.

pub mod chart;
pub mod painter;
pub mod plot;
