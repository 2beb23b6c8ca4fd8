//! The modules that come with the page: real programs, compiled by XLA.

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shipped {
    /// Its name in addresses and of its file, `modules/ID.txt`.
    pub id: &'static str,
    /// What the reader sees in the list.
    pub title: &'static str,
    /// What there is to see in it.
    pub about: &'static str,
    /// Does its story need the rows of parameters and results?
    pub all_rows: bool,
    /// The value to begin with.
    pub suggested: Option<&'static str>,
}

/// Those that the lists offer; the first is the one the page begins with.
pub const SHIPPED: [Shipped; 9] = [
    Shipped {
        id: "varied_temp_sizes",
        title: "Slices sorted and joined (CPU)",
        about: "Temporaries of many sizes, each wanted for a few steps: the whole art of packing in one screen.",
        all_rows: false,
        suggested: Some("sort.6"),
    },
    Shipped {
        id: "unet_skip",
        title: "U-Net with a skip connection (CPU)",
        about: "The skip connection is alive across the whole inner half, and nothing may take its place meanwhile.",
        all_rows: false,
        suggested: Some("conv_general_dilated.7"),
    },
    Shipped {
        id: "attention_grad",
        title: "Attention, backward pass (CPU)",
        about: "Few large buffers: the scores decide the peak, and who follows whom at their address.",
        all_rows: false,
        suggested: Some("wrapped_broadcast"),
    },
    Shipped {
        id: "mlp_grad",
        title: "Two-layer network, gradients (CPU)",
        about: "Activations wait for the backward pass; results stand in slabs of their own.",
        all_rows: false,
        suggested: Some("multiply_add_fusion.4"),
    },
    Shipped {
        id: "kv_cache_loop",
        title: "Decoding loop with a key-value cache (CPU)",
        about: "A while loop: the cache is one buffer under many names, updated in place in every turn.",
        all_rows: true,
        suggested: None,
    },
    Shipped {
        id: "lstm_scan",
        title: "LSTM over a sequence (CPU)",
        about: "A loop whose carried state must share, beside temporaries of its body that come and go.",
        all_rows: false,
        suggested: None,
    },
    Shipped {
        id: "donation_swap",
        title: "Two donated arguments, swapped (CPU)",
        about: "The results stand in the arguments' own memory, in the other order: a copy has to hold one of them.",
        all_rows: true,
        suggested: Some("copy"),
    },
    Shipped {
        id: "gpu_mlp_grad",
        title: "Two-layer network, gradients (GPU)",
        about: "The same program for a GPU: other fusions, another schedule, another alignment, another packing.",
        all_rows: false,
        suggested: Some("input_add_reduce_fusion.1{1}"),
    },
    Shipped {
        id: "transformer_train",
        title: "Transformer training step (CPU)",
        about: "A few hundred buffers. The large ones decide everything; the small ones fit in between.",
        all_rows: false,
        suggested: Some("copy_bitcast_fusion"),
    },
];

/// Those that one chapter shows and no list offers.
pub const OF_CHAPTERS: [Shipped; 2] = [
    Shipped {
        id: "gpu_two_cliques",
        title: "Two sums, each over two of four GPUs",
        about: "User buffers are on, so what is summed stands in collective memory.",
        all_rows: true,
        suggested: None,
    },
    Shipped {
        id: "gpu_layer_step",
        title: "A layer with its loss, trained for a step (GPU)",
        about: "Weights of many megabytes beside scales of four bytes.",
        all_rows: true,
        suggested: None,
    },
];

/// The id of the module whose text is [`FIRST_TEXT`].
pub const FIRST_ID: &str = "attention_grad";

/// The text that the page begins with, which is part of the program so that the page is alive at its first paint.
pub const FIRST_TEXT: &str = include_str!("../../assets/modules/attention_grad.txt");

/// The module of that id.
pub fn shipped(id: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().chain(&OF_CHAPTERS).find(|m| m.id == id)
}
