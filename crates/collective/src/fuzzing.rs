//! What must hold for every text: the body of the fuzz target, also run by the tests.
//!
//! These functions panic when something does not hold; that is their purpose.

use crate::{Scenario, look_up, read, run};

/// Reads the bytes as a scenario; one that can be read is played, in two orders of turns.
pub fn check_bytes(bytes: &[u8]) {
    let Ok(scenario) = read(&String::from_utf8_lossy(bytes)) else { return };
    let outcome = run(&scenario);
    let other = run(&Scenario { seed: scenario.seed.wrapping_add(1), ..scenario.clone() });
    assert_eq!(outcome.runs, other.runs, "who runs when matters");
    for asked in &scenario.look_up {
        let device = outcome.devices.iter().find(|d| d.id == asked.device).expect("it was checked");
        for acquired in &outcome.runs {
            if let Ok(tables) = &acquired.ranks[&asked.device] {
                _ = look_up(device, tables, asked);
            }
        }
    }
}
