//! Names of functions and files as a profiler prints them: which crate and module they are from, and how to say them in short.

const ENGINE: &str = "baler_merge::";
const ENGINE_SOURCES: &str = "/baler-merge/src/";

/// The module of the merge engine that a function belongs to, like `stitch::read`.
pub(crate) fn engine_module(symbol: &str) -> Option<String> {
    let at = symbol.find(ENGINE)? + ENGINE.len();
    let is_path = |letter: char| letter.is_alphanumeric() || "_:{}".contains(letter);
    let path = symbol[at..].split(|letter| !is_path(letter)).next()?;
    let mut modules = Vec::new();
    for part in path.split("::") {
        match part.chars().next() {
            // A type: what comes before it are modules.
            Some(first) if first.is_uppercase() => return Some(modules.join("::")),
            Some(first) if first.is_lowercase() => modules.push(part),
            _ => break,
        }
    }
    // A free function, whose own name came last.
    modules.pop();
    Some(modules.join("::"))
}

/// The module that a source file of the merge engine holds.
pub(crate) fn module_of_file(path: &str) -> Option<String> {
    let (_, path) = path.split_once(ENGINE_SOURCES)?;
    let path = path.strip_suffix(".rs")?;
    Some(path.strip_suffix("/mod").unwrap_or(path).replace('/', "::"))
}

/// The library that a function is from: the crate, zstd for what is not Rust and looks like it.
pub(crate) fn library(symbol: &str) -> &str {
    let is_zstd = ["ZSTD_", "HUF_", "FSE_", "HIST_"]
        .iter()
        .any(|prefix| symbol.starts_with(prefix));
    if is_zstd {
        return "zstd";
    }
    let path = symbol.trim_start_matches(['<', '&', '[']);
    match path.split_once("::") {
        Some((library, _))
            if library
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_') =>
        {
            library
        }
        _ if symbol == super::profile::KERNEL => symbol,
        _ => "libc and others",
    }
}

/// Type and function, or module and function, without paths and parameters: what fits into a box.
pub(crate) fn short(symbol: &str) -> String {
    let symbol = symbol.replace("->", "");
    let (owner, rest) = match owner_of(&symbol) {
        Some((owner, rest)) => (owner, rest),
        None => ("", symbol.as_str()),
    };
    let path = format!("{}{}", without_parameters(owner), without_parameters(rest));
    let parts: Vec<_> = path
        .split("::")
        .filter(|part| !part.is_empty() && !part.starts_with('{'))
        .collect();
    parts[parts.len().saturating_sub(2)..].join("::")
}

/// Splits `<Type as Trait>::function` into the type and the rest.
fn owner_of(symbol: &str) -> Option<(&str, &str)> {
    let inside = symbol.strip_prefix('<')?;
    let mut depth = 0;
    for (at, letter) in inside.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '>' => {
                let owner = &inside[..at];
                let (owner, _) = owner.split_once(" as ").unwrap_or((owner, ""));
                return Some((owner, &inside[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

/// Leaves out what stands in angle brackets.
fn without_parameters(path: &str) -> String {
    let mut depth = 0;
    let mut text = String::new();
    for letter in path.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth == 0 => text.push(letter),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_told_from_types_and_functions() {
        for (symbol, module) in [
            ("baler_merge::decode::Batches::next", "decode"),
            ("baler_merge::merge::merge", "merge"),
            ("baler_merge::stitch::read::pages::{{closure}}", "stitch::read"),
            (
                "<baler_merge::columns::watch::Watch as std::io::Write>::write",
                "columns::watch",
            ),
            ("core::ptr::drop_in_place<baler_merge::shelf::Shelf>", "shelf"),
        ] {
            assert_eq!(engine_module(symbol).as_deref(), Some(module), "{symbol}");
        }
        assert_eq!(engine_module("parquet::encodings::rle::get"), None);
    }

    #[test]
    fn files_are_modules() {
        let module = |file: &str| module_of_file(&format!("/x/crates/baler-merge/src/{file}"));
        assert_eq!(module("row_hash.rs").as_deref(), Some("row_hash"));
        assert_eq!(module("columns/window.rs").as_deref(), Some("columns::window"));
        assert_eq!(module("columns/mod.rs").as_deref(), Some("columns"));
        assert_eq!(module_of_file("/x/parquet-60.1.0/src/file/mod.rs"), None);
    }

    #[test]
    fn libraries_are_told_by_their_names() {
        assert_eq!(
            library("<parquet::arrow::Reader<T> as core::iter::Iterator>::next"),
            "parquet"
        );
        assert_eq!(library("ZSTD_compressBlock_fast"), "zstd");
        assert_eq!(library("__memmove_avx_unaligned_erms"), "libc and others");
        assert_eq!(library("kernel"), "kernel");
    }

    #[test]
    fn a_box_holds_type_and_function() {
        for (symbol, label) in [
            (
                "<parquet::arrow::Reader<T> as core::iter::traits::Iterator>::next",
                "Reader::next",
            ),
            ("baler_merge::survey::survey", "survey::survey"),
            ("baler_merge::columns::encode::all::{{closure}}", "encode::all"),
            (
                "<alloc::vec::Vec<T,A> as core::ops::FnOnce<(fn() -> T)>>::call",
                "Vec::call",
            ),
            ("clone3", "clone3"),
        ] {
            assert_eq!(short(symbol), label, "{symbol}");
        }
    }
}
