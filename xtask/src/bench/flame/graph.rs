//! A flame graph as SVG: the width of a box is its share of the CPU, below it stands who called it.

use std::collections::BTreeMap;

use super::profile::{KERNEL, Stack};
use super::symbol::{engine_module, library, short};

const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
/// Narrower boxes are left out; nobody could see or read them.
const NARROWEST: f64 = 2.0;
/// Of a letter, near enough to cut a label to its box.
const LETTER: f64 = 6.6;

/// A function as called from the one below it.
#[derive(Default)]
struct Call {
    samples: usize,
    calls: BTreeMap<String, Call>,
}

pub(crate) fn svg<'a>(title: &str, stacks: impl IntoIterator<Item = &'a Stack>) -> String {
    let mut root = Call::default();
    for stack in stacks {
        root.add(from_first_of_baler(stack));
    }
    let depth = root.depth(WIDTH);
    let height = (depth as f64 + 2.0) * ROW;
    let mut boxes = String::new();
    let canvas = Canvas {
        top: height,
        samples: root.samples as f64,
    };
    canvas.draw(&mut boxes, title, &root, 0.0, 0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{boxes}</svg>\n"
    )
}

/// Without the threads' and the runtime's own frames, which differ and say nothing.
fn from_first_of_baler(stack: &Stack) -> &[String] {
    let first = stack.iter().position(|symbol| symbol.contains("baler"));
    first.map_or(stack, |at| &stack[at..])
}

impl Call {
    fn add(&mut self, stack: &[String]) {
        self.samples += 1;
        if let Some((symbol, inner)) = stack.split_first() {
            self.calls.entry(symbol.clone()).or_default().add(inner);
        }
    }

    /// How many rows its boxes take, given its own width.
    fn depth(&self, width: f64) -> usize {
        let width_of = |call: &Self| width * call.samples as f64 / self.samples as f64;
        let shown = self.calls.values().filter(|call| width_of(call) >= NARROWEST);
        1 + shown.map(|call| call.depth(width_of(call))).max().unwrap_or(0)
    }
}

struct Canvas {
    top: f64,
    samples: f64,
}

impl Canvas {
    fn draw(&self, boxes: &mut String, name: &str, call: &Call, left: f64, row: usize) {
        let width = WIDTH * call.samples as f64 / self.samples;
        if width < NARROWEST {
            return;
        }
        let y = self.top - (row as f64 + 1.5) * ROW;
        let label: String = short(name).chars().take((width / LETTER) as usize).collect();
        let percent = 100.0 * call.samples as f64 / self.samples;
        *boxes += &format!(
            "<g><title>{} {percent:.1} %</title><rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" \
             fill=\"{}\" stroke=\"#fff\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>\n",
            escaped(name),
            ROW - 1.0,
            colour(name),
            left + 2.0,
            y + ROW - 5.0,
            escaped(&label)
        );
        let mut at = left;
        for (name, inner) in &call.calls {
            self.draw(boxes, name, inner, at, row + 1);
            at += WIDTH * inner.samples as f64 / self.samples;
        }
    }
}

/// One colour for each kind of work.
fn colour(symbol: &str) -> &'static str {
    let module = engine_module(symbol);
    match library(symbol) {
        "xxhash_rust" => "#e8786f",
        _ if module.as_deref() == Some("row_hash") => "#e8786f",
        _ if module.is_some() => "#f2b263",
        "zstd" | "zstd_safe" => "#8fbf7f",
        "parquet" => "#7fa8d9",
        library if library.starts_with("arrow") => "#a9c4e6",
        KERNEL => "#bdbdbd",
        _ => "#e6d9b8",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(symbols: &[&str]) -> Stack {
        symbols.iter().map(|symbol| (*symbol).to_owned()).collect()
    }

    #[test]
    fn widths_are_shares_and_threads_are_one() {
        let stacks = [
            stack(&["clone3", "baler_merge::merge::merge", "ZSTD_compress"]),
            stack(&["start", "baler_merge::merge::merge", "<parquet::A<T> as B>::f"]),
        ];
        let svg = svg("overlap", &stacks);
        assert!(
            svg.contains("<title>baler_merge::merge::merge 100.0 %</title><rect x=\"0.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("&lt;parquet::A&lt;T&gt; as B&gt;::f 50.0 %</title><rect x=\"0.0\""),
            "{svg}"
        );
        assert!(
            svg.contains("<title>ZSTD_compress 50.0 %</title><rect x=\"600.0\""),
            "{svg}"
        );
        assert!(!svg.contains("clone3"), "{svg}");
    }

    #[test]
    fn what_is_too_narrow_to_see_takes_no_room() {
        let mut stacks = vec![stack(&["baler::main"]); 1_000];
        stacks.push(stack(&["baler::main", "rare", "deep", "deeper"]));
        let svg = svg("overlap", &stacks);
        assert!(!svg.contains("rare"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 1200 68\""), "{svg}");
    }
}
