//! The module's text: lit with the figures, and editable.

use crate::views::plot::point;
use crate::views::text_pane::put_caret;
use crate::workbench::{Workbench, use_workbench};
use leptos::ev::{Event, MouseEvent};
use leptos::html::{Div, Textarea};
use leptos::prelude::*;
use std::time::Duration;

/// A line's height in CSS pixels; the style sheet has the same.
const LINE: f64 = 18.0;

/// The editor's height in lines.
const LINES: u32 = 18;

/// How long after the last key the text is read.
const PAUSE: Duration = Duration::from_millis(300);

/// The text of the module in a part of the page that opens.
#[component]
pub fn Editor() -> impl IntoView {
    let wb = use_workbench();
    let open = move || wb.state.with(|s| s.text);
    let toggled = move |e: Event| {
        let is_open = event_target::<web_sys::Element>(&e).has_attribute("open");
        if is_open != wb.state.with_untracked(|s| s.text) {
            wb.update(|s| s.text = is_open);
        }
    };
    let count = move || wb.problems.with(|p| p.iter().filter(|p| p.is_error).count());
    let any = move || count() != 0;
    view! {
        <details class="text" prop:open=open on:toggle=toggled>
            <summary>
                "HLO text "
                <span class="quiet">
                    "change it, and everything above follows; hover or click a line to find its value"
                </span>
                <Show when=any>
                    <span class="count-errors">{move || format!("{} to fix", count())}</span>
                </Show>
            </summary>
            <Show when=open>
                <Pane />
            </Show>
        </details>
    }
}

/// The value that a line of the text defines, or the one that its instruction's step belongs to.
fn value_on(wb: Workbench, line: u32) -> Option<u32> {
    wb.run.with_untracked(|r| r.as_ref()?.picture.items.iter().find(|i| i.line == line).map(|i| i.value))
}

fn line_of(wb: Workbench, value: u32) -> Option<u32> {
    wb.run.with(|r| r.as_ref()?.picture.item(value).map(|i| i.line).filter(|l| *l > 0))
}

#[component]
fn Pane() -> impl IntoView {
    let wb = use_workbench();
    let (area, frame) = (NodeRef::<Textarea>::new(), NodeRef::<Div>::new());
    let scroll = RwSignal::new(0.0_f64);

    // The text comes from outside; what the reader types is not written back over the caret.
    Effect::new(move |_| {
        let text = wb.text.get();
        if let Some(area) = area.get()
            && area.value() != *text
        {
            area.set_value(&text);
        }
    });

    // The selected value's line is brought into view, unless the reader is in the text.
    let shown = Memo::new(move |_| wb.selected.get().and_then(|v| line_of(wb, v)));
    Effect::new(move |_| {
        let (Some(area), Some(line)) = (area.get(), shown.get()) else { return };
        let focused = document().active_element().is_some_and(|e| e.tag_name() == "TEXTAREA");
        let at = f64::from(line - 1) * LINE;
        let top = f64::from(area.scroll_top());
        if !focused && (at < top || at > top + LINE * f64::from(LINES - 2)) {
            area.set_scroll_top((at - LINE * 5.0).max(0.0) as i32);
            scroll.set(f64::from(area.scroll_top()));
        }
    });

    // The last of several changes counts.
    let turn = StoredValue::new(0_u32);
    let typed = move |e: Event| {
        let text = event_target_value(&e);
        turn.update_value(|t| *t += 1);
        let mine = turn.get_value();
        set_timeout(
            move || {
                if turn.try_get_value() == Some(mine) {
                    wb.type_text(text);
                }
            },
            PAUSE,
        );
    };
    let line_at = move |e: &MouseEvent| -> Option<u32> {
        let (_, y) = point(e, frame)?;
        let line = (y + scroll.get_untracked()) / LINE;
        (line >= 0.0).then_some(line as u32 + 1)
    };
    let hovered = move |e: MouseEvent| {
        let value = line_at(&e).and_then(|line| value_on(wb, line));
        if wb.hover.get_untracked() != value {
            wb.hover.set(value);
        }
    };
    let clicked = move |e: MouseEvent| {
        if let Some(value) = line_at(&e).and_then(|line| value_on(wb, line)) {
            wb.select(Some(value));
        }
    };
    let numbers = move || {
        let first = (scroll.get() / LINE) as u32;
        let last = wb.text.with(|t| t.lines().count()) as u32;
        let mut out = String::new();
        for n in first + 1..=(first + LINES + 1).min(last.max(1)) {
            out.push_str(&n.to_string());
            out.push('\n');
        }
        out
    };
    let top_of = move |line: u32| format!("translateY({:.0}px)", f64::from(line - 1) * LINE - scroll.get());
    let strip = move |class: &'static str, line: Memo<Option<u32>>| {
        view! {
            <div
                class=class
                class:gone=move || line.get().is_none()
                style:transform=move || line.get().map_or(String::new(), top_of)
            ></div>
        }
    };
    let lit = Memo::new(move |_| wb.hover.get().and_then(|v| line_of(wb, v)));
    let ran = Memo::new(move |_| {
        let step = wb.cursor.get()?;
        wb.run.with(|r| r.as_ref()?.picture.steps.get(step as usize).map(|s| s.line))
    });
    let go = move |line: u32| {
        if let Some(area) = area.get_untracked() {
            put_caret(&area, line);
            // Last, because focus scrolls to the caret as well, but wherever it likes.
            area.set_scroll_top((f64::from(line - 1) * LINE - LINE * 4.0).max(0.0) as i32);
            area.set_scroll_left(0);
        }
    };
    let problems_id = format!("{}-problems", wb.id);
    view! {
        <div class="pane" node_ref=frame>
            <div class="gutter" aria-hidden="true">
                <div class="numbers" style:transform=move || format!("translateY({:.1}px)", -(scroll.get() % LINE))>
                    {numbers}
                </div>
            </div>
            <div class="strips" aria-hidden="true">
                {strip("strip ran", ran)} {strip("strip selected", shown)} {strip("strip lit", lit)}
                <For
                    each=move || wb.problems.get()
                    key=|p| (p.line, p.column, p.message.clone())
                    let(problem)
                >
                    <div
                        class="strip wrong"
                        class:warning=!problem.is_error
                        style:transform=move || top_of(problem.line)
                    ></div>
                </For>
            </div>
            <textarea
                node_ref=area
                aria-label="HLO text of the module"
                aria-describedby=problems_id.clone()
                aria-invalid=move || wb.problems.with(|p| p.iter().any(|p| p.is_error)).to_string()
                spellcheck="false"
                autocapitalize="off"
                autocomplete="off"
                wrap="off"
                on:input=typed
                on:scroll=move |e| scroll.set(f64::from(event_target::<web_sys::Element>(&e).scroll_top()))
                on:mousemove=hovered
                on:mouseleave=move |_| wb.hover.set(None)
                on:click=clicked
            ></textarea>
        </div>
        <ul id=problems_id class="problems" aria-live="polite">
            <For each=move || wb.problems.get() key=|p| (p.line, p.column, p.message.clone()) let(p)>
                <li class:warning=!p.is_error>
                    <button type="button" on:click=move |_| go(p.line)>
                        {format!("line {}, column {}", p.line, p.column)}
                    </button>
                    " "
                    {p.message.clone()}
                </li>
            </For>
        </ul>
    }
}
