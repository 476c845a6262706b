//! `--memory` holds: the peak of a whole process stays within it, plus a fixed amount.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Float64Array, Int64Array, StringArray};

use crate::support::{Scene, soaking, write_columns};

const BEYOND_BYTES_MAX: u64 = 200_000_000;

#[test]
fn memory_of_many_inputs_stays_within_its_budget() {
    let (files, sizes): (u64, &[u64]) = if soaking() {
        (256, &[512 << 10, 4 << 20, 16 << 20])
    } else {
        (256, &[256 << 10])
    };
    for size in sizes {
        let scene = Scene::new();
        write_inputs(&scene.path("data"), files, *size);
        for memory in [128, 512] {
            let peak = peak_of_compaction(&scene, memory);
            let limit = (memory << 20) + BEYOND_BYTES_MAX;
            println!(
                "figure: {files} inputs of {} KiB, --memory {memory}MiB: peak {} MB",
                size >> 10,
                peak / 1_000_000
            );
            assert!(peak <= limit, "peak {peak}, allowed {limit}");
        }
    }
}

/// Runs a compaction into a folder of its own, under a shell that reports the peak of its child.
fn peak_of_compaction(scene: &Scene, memory: u64) -> u64 {
    let script = format!(
        "import resource, subprocess, sys\n\
         code = subprocess.call(['{}', 'compact', 'data', '--output', 'packed-{memory}', '--settle', '0s', '--json', \
         '--sort-by', 'key', '--workers', '1', '--memory', '{memory}MiB'], stdout=subprocess.DEVNULL)\n\
         print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n\
         sys.exit(code)",
        env!("CARGO_BIN_EXE_baler")
    );
    let python = std::env::var("BALER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = std::process::Command::new(python)
        .args(["-c", &script])
        .current_dir(scene.path("."))
        .output()
        .expect("python3 measures the peak: install it, or run `cargo xtask test`");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Files of about this size that do not compress well, all overlapping.
fn write_inputs(folder: &Path, files: u64, size: u64) {
    fs::create_dir_all(folder).unwrap();
    let rows = size / 40;
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for file in 0..files {
        let key: Int64Array = (0..rows)
            .map(|row| Some(i64::try_from(row * files + file).unwrap()))
            .collect();
        let value: Float64Array = (0..rows).map(|_| Some(random() as f64)).collect();
        let text: StringArray = (0..rows).map(|_| Some(format!("{:016x}", random()))).collect();
        let path = folder.join(format!("part-{file:04}.parquet"));
        write_columns(
            &path,
            vec![
                ("key", Arc::new(key)),
                ("value", Arc::new(value)),
                ("text", Arc::new(text)),
            ],
        );
    }
}
