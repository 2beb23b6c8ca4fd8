//! The numbers things go by.

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into its arena.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

index_type! {
    /// An HLO value, by XLA's own number. The numbers have gaps (2.4).
    ValueId
}
index_type! {
    /// An HLO buffer: values that must share one address (3).
    BufferId
}
index_type! {
    /// A moment of the flattened schedule: the index of an instruction in it (4.1).
    Step
}
index_type! {
    /// A colour, which is a memory space (8.1).
    Color
}
