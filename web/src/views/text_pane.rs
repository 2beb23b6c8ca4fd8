//! A small text to be changed, with what is wrong at its lines.

use crate::engine::Problem;
use crate::teach::coded;
use crate::workbench::use_workbench;
use leptos::ev::Event;
use leptos::html::Textarea;
use leptos::prelude::*;
use std::time::Duration;

/// Puts the caret, and the keyboard, at the beginning of a line, counted from 1.
pub fn put_caret(area: &web_sys::HtmlTextAreaElement, line: u32) {
    _ = area.focus();
    let text = area.value();
    let before = text.split_inclusive('\n').take(line as usize - 1);
    let at = before.map(|l| l.encode_utf16().count()).sum::<usize>() as u32;
    _ = area.set_selection_range(at, at);
}

/// How long after the last key the text is read.
const PAUSE: Duration = Duration::from_millis(300);

/// A line's height in CSS pixels; the style sheet has the same.
const LINE: f64 = 18.0;

/// The text, as high as it is long, and its problems below.
#[component]
pub fn TextPane(
    /// What it is, for those who hear it.
    label: String,
    /// The text as it is now.
    #[prop(into)]
    text: Signal<String>,
    /// What is wrong with it.
    #[prop(into)]
    problems: Signal<Vec<Problem>>,
    /// Called with another text, when the reader has stopped to type.
    #[prop(into)]
    set: Callback<String>,
) -> impl IntoView {
    let wb = use_workbench();
    let area = NodeRef::<Textarea>::new();
    let scroll = RwSignal::new(0.0_f64);
    // The text comes from outside; what the reader types is not written back over the caret.
    Effect::new(move |_| {
        let text = text.get();
        if let Some(area) = area.get()
            && area.value() != text
        {
            area.set_value(&text);
        }
    });
    // The last of several changes counts.
    let turn = StoredValue::new(0_u32);
    let typed = move |e: Event| {
        let typed = event_target_value(&e);
        turn.update_value(|t| *t += 1);
        let mine = turn.get_value();
        set_timeout(
            move || {
                if turn.try_get_value() == Some(mine) && text.get_untracked() != typed {
                    set.run(typed);
                }
            },
            PAUSE,
        );
    };
    let lines = Memo::new(move |_| text.with(|t| t.lines().count()).max(1));
    let numbers = move || {
        let mut out = String::new();
        for n in 1..=lines.get() {
            out.push_str(&n.to_string());
            out.push('\n');
        }
        out
    };
    let height = move || format!("{:.0}px", LINE * (lines.get().max(9) as f64 + 1.0) + 12.0);
    let at_lines = move || problems.get().into_iter().filter(|p| p.line > 0).collect::<Vec<_>>();
    let go = move |line: u32| {
        if let Some(area) = area.get_untracked() {
            put_caret(&area, line);
        }
    };
    let described = format!("{}-problems", wb.id);
    view! {
        <div class="pane lesson-pane" style:height=height>
            <div class="gutter" aria-hidden="true">
                <div class="numbers" style:transform=move || format!("translateY({:.0}px)", -scroll.get())>
                    {numbers}
                </div>
            </div>
            <div class="strips" aria-hidden="true">
                <For each=at_lines key=|p| (p.line, p.column, p.message.clone()) let(problem)>
                    <div
                        class="strip wrong"
                        style:transform=move || {
                            format!("translateY({:.0}px)", f64::from(problem.line - 1) * LINE - scroll.get())
                        }
                    ></div>
                </For>
            </div>
            <textarea
                node_ref=area
                aria-label=label
                aria-describedby=described.clone()
                aria-invalid=move || (!at_lines().is_empty()).to_string()
                spellcheck="false"
                autocapitalize="off"
                autocomplete="off"
                wrap="off"
                on:input=typed
                on:scroll=move |e| scroll.set(f64::from(event_target::<web_sys::Element>(&e).scroll_top()))
            ></textarea>
        </div>
        <ul id=described class="problems" aria-live="polite">
            <For each=at_lines key=|p| (p.line, p.column, p.message.clone()) let(p)>
                <li>
                    <button type="button" on:click=move |_| go(p.line)>
                        {format!("line {}, column {}", p.line, p.column)}
                    </button>
                    " "
                    {coded(&p.message)}
                </li>
            </For>
        </ul>
    }
}
