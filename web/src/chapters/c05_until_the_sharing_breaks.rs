//! Chapter 5: the signature exhibit.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 5,
    slug: "until-the-sharing-breaks",
    title: "Until the sharing breaks",
    question: "How long may a value live before another one has to move?",
    #[cfg(target_arch = "wasm32")]
    view: view::chapter,
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module it begins with.
const MODULE: &str = "varied_temp_sizes";

const TITLE: &str = "Pull a range until the sharing breaks";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use super::Poster;
    use crate::scene::heap;
    use crate::{engine, modules, story};
    let Ok(opened) = engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let picture = &opened.original.picture;
    let selected = modules::shipped(MODULE).and_then(|m| opened.find(m.suggested?));
    let scene = heap(picture, picture, (900.0, 420.0), selected, &[], opened.original.curve.peak()).scene;
    vec![Poster {
        figure: "drag",
        title: TITLE,
        caption: story::peak(&opened.original),
        class: "heap",
        scene,
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{MODULE, TITLE};
    use crate::exhibit::Exhibit;
    use crate::figure::Figure;
    use crate::state::{Source, State};
    use crate::teach::Rule;
    use crate::workbench::Workbench;
    use leptos::prelude::*;

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("drag", State::new(Source::Shipped(MODULE.to_owned())));
        view! {
            <p>
                "Two values may stand at the same address if their live ranges do not overlap. That is all there is to "
                "sharing, so a range decides whom a value can share with. Pull one longer, and at an exact step a sharing "
                "breaks: the two are wanted at the same time, one of them needs another place, and the heap may grow. "
                "XLA calls this " <dfn>"live range interference"</dfn>
                "; it is the seventh of nine reasons to refuse a place. "
                <Rule section="8.5.1" />
            </p>
            <p>
                "The marks beyond the end of the selected range say at which step which sharing breaks, before you get "
                "there. Pull the end, or use the arrow keys: the packing runs again at every step."
            </p>
            <Figure
                wb
                title=TITLE
                caption="Above, live ranges: a row a buffer, the steps across. Below or beside, the heap: addresses upwards. Whatever stood elsewhere before leaves a dotted ghost."
                reserve=[1010, 1560, 1960]
            >
                <Exhibit />
            </Figure>
        }
        .into_any()
    }
}
