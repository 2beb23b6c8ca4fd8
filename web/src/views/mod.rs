//! What draws a scene. Nothing here computes.

pub mod chart;
pub mod choose;
pub mod decision_log;
pub mod drawn;
pub mod dump_pane;
pub mod hand_packing;
pub mod painter;
pub mod plot;
pub mod scrubber;
pub mod searching;
pub mod slider;
pub mod text_pane;
