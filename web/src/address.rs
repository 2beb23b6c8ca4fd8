//! The page's address: which place of the page it names, and the state of every figure that is not as it first was.
//!
//! `#v2/ANCHOR/FIGURE=STATE&FIGURE=STATE`, or plain `#ANCHOR` where all figures are as they first were. Links of the
//! first version, `#v1;STATE`, are of the one figure there was then.

/// The figure that links of the first version are about.
pub const FIRST_FIGURE: &str = "drag";

/// Entries that are no figure's: how the page is shown. `lesson=new.3` is the third step of a lesson, `present=drag` one
/// figure alone, large; within a lesson that is `present=1`.
pub const MODES: [&str; 2] = ["lesson", "present"];

/// What an address says. States are kept as they were written: a figure that sleeps has not read its own yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Address {
    /// The element to be shown: a chapter or a figure. Empty where none is named.
    pub anchor: String,
    /// The figures that differ from their default, by id, each with its state as `State::encode` writes it.
    pub figures: Vec<(String, String)>,
}

/// May it be the id of a chapter or a figure?
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 80 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

impl Address {
    /// Reads a hash, with or without `#`; `None` if it is not one of ours.
    pub fn parse(hash: &str) -> Option<Self> {
        let hash = hash.strip_prefix('#').unwrap_or(hash);
        if let Some(state) = hash.strip_prefix("v1;") {
            let figures = vec![(FIRST_FIGURE.to_owned(), state.to_owned())];
            return Some(Self { anchor: FIRST_FIGURE.to_owned(), figures });
        }
        let Some(rest) = hash.strip_prefix("v2/") else {
            let is_anchor = hash.is_empty() || is_id(hash);
            return is_anchor.then(|| Self { anchor: hash.to_owned(), figures: Vec::new() });
        };
        let (anchor, states) = rest.split_once('/')?;
        if !anchor.is_empty() && !is_id(anchor) {
            return None;
        }
        let mut figures = Vec::new();
        for part in states.split('&').filter(|part| !part.is_empty()) {
            let (id, state) = part.split_once('=')?;
            if !is_id(id) || figures.iter().any(|(other, _)| other == id) {
                return None;
            }
            figures.push((id.to_owned(), state.to_owned()));
        }
        Some(Self { anchor: anchor.to_owned(), figures })
    }

    /// As a hash with `#`; empty where there is nothing to say.
    pub fn to_hash(&self) -> String {
        if self.figures.is_empty() {
            return if self.anchor.is_empty() { String::new() } else { format!("#{}", self.anchor) };
        }
        let states: Vec<String> = self.figures.iter().map(|(id, state)| format!("{id}={state}")).collect();
        format!("#v2/{}/{}", self.anchor, states.join("&"))
    }

    /// The entries that say how the page is shown.
    pub fn modes(&self) -> Vec<(String, String)> {
        self.figures.iter().filter(|(id, _)| MODES.contains(&id.as_str())).cloned().collect()
    }

    /// The state of a figure, as it was written; also what a mode says.
    pub fn state_of(&self, figure: &str) -> Option<&str> {
        self.figures.iter().find(|(id, _)| id == figure).map(|(_, state)| state.as_str())
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::state::{Edit, Move, Param, Selection, Source, State};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    fn params() -> impl Strategy<Value = std::collections::BTreeMap<String, Param>> {
        let param = prop_oneof![any::<i64>().prop_map(Param::Number), "\\PC{0,24}".prop_map(Param::Word)];
        btree_map("[a-zA-Z0-9-]{1,12}", param, 0..5)
    }

    prop_compose! {
        /// Any state that handlers can reach, and some that they cannot.
        fn states()(
            source in prop_oneof![
                "[a-z_0-9]{1,12}".prop_map(Source::Shipped),
                "(?s).{0,200}".prop_map(Source::Own),
            ],
            ranges in vec((any::<u32>(), any::<u32>(), any::<u32>()), 0..6),
            moves in vec((any::<u32>(), any::<u32>()), 0..6),
            params in params(),
            view in params(),
            selection in prop_oneof![
                Just(Selection::Suggested),
                Just(Selection::Nothing),
                any::<u32>().prop_map(Selection::Value),
            ],
            (all_rows, table, text) in any::<(bool, bool, bool)>(),
        ) -> State {
            let mut state = State::new(source);
            for (value, a, b) in ranges {
                state = state.with_range(value, (u32::MAX, 0), (a.min(b), a.max(b)));
            }
            let moves = moves.into_iter().map(|(to, instruction)| Move { to, instruction }).collect();
            State { params, view, selection, all_rows, table, text, ..state.with_moves(moves) }
        }
    }

    proptest! {
        #[test]
        fn every_address_reads_back(
            anchor in "[a-z0-9-]{0,12}",
            figures in btree_map("[a-z][a-z0-9-]{0,8}", states(), 0..4),
        ) {
            let written = Address {
                anchor,
                figures: figures.iter().map(|(id, state)| (id.clone(), state.encode())).collect(),
            };
            let hash = written.to_hash();
            let read = Address::parse(&hash).expect("our own");
            prop_assert_eq!(&read, &written);
            for (id, state) in &figures {
                let state_read = read.state_of(id).and_then(State::decode);
                prop_assert_eq!(state_read.as_ref(), Some(state));
            }
            // Nothing in it that a browser would write otherwise.
            prop_assert!(hash.bytes().all(|b| b.is_ascii_graphic() && !b"\"<>`%\\^{}|".contains(&b)), "{}", hash);
        }

        #[test]
        fn nothing_makes_it_panic(hash in "(?s).{0,80}") {
            if let Some(address) = Address::parse(&hash) {
                for (_, state) in &address.figures {
                    _ = State::decode(state);
                }
            }
        }
    }

    #[test]
    fn addresses_are_short_and_plain_where_they_can_be() {
        let state = State::new(Source::Shipped("mlp_grad".to_owned()));
        let state = state.with_range(57, (22, 30), (22, 31));
        let address =
            Address { anchor: "drag".to_owned(), figures: vec![("drag".to_owned(), state.encode())] };
        assert_eq!(address.to_hash(), "#v2/drag/drag=m=mlp_grad;e=57.22.31");
        assert_eq!(Address { anchor: "live-ranges".to_owned(), figures: vec![] }.to_hash(), "#live-ranges");
        assert_eq!(Address::default().to_hash(), "");
    }

    #[test]
    fn links_of_the_first_version_still_open() {
        let address = Address::parse("#v1;m=mlp_grad;e=57.22.31;s=57;all;table").expect("a link");
        let state = address.state_of(FIRST_FIGURE).and_then(State::decode).expect("its state");
        assert_eq!(state.edits, [Edit { value: 57, start: 22, end: 31 }]);
        assert_eq!(state.selection, Selection::Value(57));
        assert!(state.all_rows && state.table && !state.text);
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        for hash in
            ["#v1", "#v3/a/b=c", "#v2", "#v2/a", "#v2/a b/", "#v2/a/b", "#v2/a/b=c&b=d", "#a=b", "#../x"]
        {
            let address = Address::parse(hash);
            assert!(address.is_none_or(|a| a.figures.is_empty()), "{hash}");
        }
    }
}
