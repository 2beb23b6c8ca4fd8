//! What can be taken away.

use super::given::shell;
use super::state::Lab;
use crate::export::FILES;
use crate::talk::{Answer, Ask};
use browser::{copy, download, download_blob};
use leptos::prelude::*;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Blob, CanvasRenderingContext2d, HtmlCanvasElement};

/// The pane of files.
#[component]
pub fn TakePane(lab: Lab) -> impl IntoView {
    let said = RwSignal::new(String::new());
    let name = move || lab.file_name();
    let fetch = move |what: &'static str, on_clipboard: bool| {
        let ask = Ask::Export { source: lab.source.get_untracked(), what: what.to_owned() };
        lab.link.ask(ask, move |answer| match answer {
            Answer::File { name: file, text } if on_clipboard => {
                leptos::task::spawn_local(async move {
                    said.set(if copy(&text).await {
                        format!("{file} is on the clipboard.")
                    } else {
                        "The browser does not let this page use the clipboard.".to_owned()
                    });
                });
            }
            Answer::File { name: file, text } => {
                let kind = match file.rsplit('.').next() {
                    Some("json") => "application/json",
                    Some("csv") => "text/csv",
                    Some("svg") => "image/svg+xml",
                    _ => "text/plain",
                };
                download(&format!("{}.{file}", name()), &text, kind);
                said.set(format!("{file} is saved."));
            }
            Answer::Failed(why) => said.set(why),
            _ => {}
        });
    };
    let whole = move |_| {
        leptos::task::spawn_local(async move {
            let shell = shell().await;
            let is_alive = shell.is_some();
            lab.link.progress.set(Some(crate::talk::Progress {
                stage: "Writing the report".to_owned(),
                ..crate::talk::Progress::default()
            }));
            let ask = Ask::Report(lab.trial_now());
            let files = shell.map_or(JsValue::UNDEFINED, JsValue::from);
            lab.link.ask_with(ask, &files, move |answer| match answer {
                Answer::File { name: file, text } => {
                    download(&format!("{}.{file}", name()), &text, "text/html");
                    said.set(if is_alive {
                        "The report is saved.".to_owned()
                    } else {
                        "The report is saved without its live part: report-shell.html does not lie beside this page (cargo xtask build writes it).".to_owned()
                    });
                }
                Answer::Failed(why) => said.set(why),
                _ => {}
            });
        });
    };
    let picture = move |id: &'static str| {
        let canvas = document().get_element_by_id(id).and_then(|c| c.dyn_into::<HtmlCanvasElement>().ok());
        let Some(canvas) = canvas else { return };
        // With the names that are written over the map.
        let canvas = if id == "map" { with_names(&canvas).unwrap_or(canvas) } else { canvas };
        let file = format!("{}.{id}.png", name());
        let done = Closure::once_into_js(move |blob: Option<Blob>| {
            if let Some(blob) = blob {
                download_blob(&file, &blob);
            }
        });
        _ = canvas.to_blob(done.unchecked_ref());
        said.set(format!("The {id} is saved as PNG."));
    };
    let drawing = move |_| {
        if let Some(make) = lab.svg.get_value() {
            make(Box::new(move |svg| {
                download(&format!("{}.map.svg", name()), &svg, "image/svg+xml");
                said.set("The map is saved as SVG.".to_owned());
            }));
        }
    };
    view! {
        <p class="quiet small">
            "Of the assignment that is shown: XLA's own, ours, or the run that was tried. The four files are always what XLA would write of our run."
        </p>
        <ul class="files">
            <li>
                <button type="button" id="save-report" aria-label="Save report.html" on:click=whole>
                    "Save"
                </button>
                " "
                <b>"report.html"</b>
                ": one page with the module, its answers and this lab, with what is tried. It opens from a disk, without a network, and is read without JavaScript too"
            </li>
            <li>
                <button type="button" id="save-png" on:click=move |_| picture("map")>
                    "Save"
                </button>
                " The map as it is shown, as PNG"
            </li>
            <li>
                <button type="button" id="save-curve" on:click=move |_| picture("curve")>
                    "Save"
                </button>
                " The curve above it as it is shown, as PNG"
            </li>
            <li>
                <button type="button" id="save-svg" on:click=drawing>
                    "Save"
                </button>
                " The map as it is shown, as SVG"
            </li>
            {FILES
                .iter()
                .map(|(what, about)| {
                    view! {
                        <li>
                            <button
                                type="button"
                                data-file=*what
                                aria-label=format!("Save {what}")
                                on:click=move |_| fetch(what, false)
                            >
                                "Save"
                            </button>
                            " "
                            <button
                                type="button"
                                aria-label=format!("Copy {what}")
                                on:click=move |_| fetch(what, true)
                            >
                                "Copy"
                            </button>
                            " "
                            {*about}
                        </li>
                    }
                })
                .collect_view()}
        </ul>
        <p role="status" class="small">{move || said.get()}</p>
    }
}

/// The map and the names over it as one picture.
fn with_names(map: &HtmlCanvasElement) -> Option<HtmlCanvasElement> {
    let names: HtmlCanvasElement = document().get_element_by_id("band-names")?.dyn_into().ok()?;
    let both: HtmlCanvasElement = document().create_element("canvas").ok()?.dyn_into().ok()?;
    both.set_width(map.width());
    both.set_height(map.height());
    let context: CanvasRenderingContext2d = both.get_context("2d").ok()??.dyn_into().ok()?;
    for layer in [map, &names] {
        context.draw_image_with_html_canvas_element(layer, 0.0, 0.0).ok()?;
    }
    Some(both)
}
