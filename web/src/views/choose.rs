//! Choosing a value or a module from a list, for those who do not point.

use crate::modules::shipped;
use crate::state::{Source, State};
use crate::workbench::use_workbench;
use leptos::ev::Event;
use leptos::prelude::*;
use sorts::Arrange as _;

/// The selected value, from a list in the order in which they are written, with buttons to the next and the one before.
#[component]
pub fn ValueChoice(
    /// Parameters, results and constants too, not temporaries only.
    #[prop(optional)]
    all: bool,
    /// What stands before the list.
    #[prop(default = "Value")]
    label: &'static str,
) -> impl IntoView {
    let wb = use_workbench();
    let options = Memo::new(move |_| {
        wb.base.with(|o| {
            let picture = o.as_ref().map(|o| &o.original.picture);
            let mut items: Vec<_> = picture
                .into_iter()
                .flat_map(|p| p.items.iter().filter(move |i| all || p.is_temp(i)))
                .collect();
            items.arrange_by_key(|i| (i.start, i.end, i.value));
            items.iter().map(|i| (i.value, i.name.clone())).collect::<Vec<_>>()
        })
    });
    let choose = move |e: Event| wb.select(event_target_value(&e).parse().ok());
    let go = move |by: isize| {
        let next = options.with_untracked(|o| {
            let at = o.iter().position(|(v, _)| wb.selected.get_untracked() == Some(*v));
            let last = o.len().checked_sub(1)?;
            let to = at.map_or(0, |at| at.saturating_add_signed(by).min(last));
            Some(o[to].0)
        });
        wb.select(next);
    };
    view! {
        <div class="field chooser">
            <label>
                {label}
                <select on:change=choose>
                    <option value="" selected=move || wb.selected.get().is_none()>
                        "none"
                    </option>
                    <For each=move || options.get() key=Clone::clone let((value, name))>
                        <option value=value.to_string() selected=move || wb.selected.get() == Some(value)>
                            {name}
                        </option>
                    </For>
                </select>
            </label>
            <button type="button" aria-label="Value before" on:click=move |_| go(-1)>
                "‹"
            </button>
            <button type="button" aria-label="Next value" on:click=move |_| go(1)>
                "›"
            </button>
        </div>
    }
}

/// One of a few that are always the same.
#[component]
pub fn OneOf(
    /// What stands before the list.
    label: &'static str,
    /// Of each, its id and what is shown.
    options: Vec<(&'static str, String)>,
    /// The id of the present one.
    now: Signal<&'static str>,
    /// Gets the id of another.
    choose: Callback<String>,
) -> impl IntoView {
    view! {
        <label class="field">
            {label}
            <select on:change=move |e: Event| choose.run(event_target_value(&e)) prop:value=move || now.get()>
                {options
                    .into_iter()
                    .map(|(id, title)| {
                        view! {
                            <option value=id selected=move || now.get() == id>
                                {title}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
        </label>
    }
}

/// A few modules to choose from; the figure's changes belong to a module and go with it.
#[component]
pub fn ModuleChoice(
    /// Their ids.
    ids: &'static [&'static str],
) -> impl IntoView {
    let wb = use_workbench();
    let now = move || {
        wb.state.with(|s| match &s.source {
            Source::Shipped(id) => id.clone(),
            Source::Own(_) => String::new(),
        })
    };
    let choose = move |e: Event| {
        let id = event_target_value(&e);
        wb.update(|s| *s = State { table: s.table, ..wb.with_source(Source::Shipped(id)) });
    };
    view! {
        <div class="field chooser">
            <label>
                "Program"
                <select on:change=choose prop:value=now>
                    {ids
                        .iter()
                        .filter_map(|id| shipped(id))
                        .map(|m| {
                            view! {
                                <option value=m.id selected=move || now() == m.id>
                                    {m.title}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </label>
        </div>
    }
}
