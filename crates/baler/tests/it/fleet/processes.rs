//! Processes that a story starts, and that end with it however it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::Scene;

/// A scene with processes at work on its folder `data`.
pub(crate) struct Fleet {
    pub(crate) scene: Scene,
}

/// A process, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    /// Where it answers, if it is a coordinator.
    pub(crate) url: String,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        Self { scene: Scene::new() }
    }

    /// `baler serve data`, on a port of its own.
    pub(crate) fn serve(&self, args: &[&str]) -> Process {
        self.serve_native(&[&["--sort-by", "key"], args].concat())
    }

    /// The same for a root of native tables, which say for themselves how they are sorted.
    pub(crate) fn serve_native(&self, args: &[&str]) -> Process {
        self.serve_in("data", free_port(), args, &[])
    }

    /// The same as `serve`, with variables in its environment.
    pub(crate) fn serve_with(&self, args: &[&str], env: &[(&'static str, String)]) -> Process {
        let args = [&["--sort-by", "key"], args].concat();
        self.serve_in("data", free_port(), &args, env)
    }

    /// The same for another folder, on this port.
    pub(crate) fn serve_at(&self, root: &str, port: u16, args: &[&str]) -> Process {
        self.serve_in(root, port, args, &[])
    }

    fn serve_in(&self, root: &str, port: u16, args: &[&str], env: &[(&'static str, String)]) -> Process {
        let listen = format!("127.0.0.1:{port}");
        let all = [
            &["serve", root, "--settle", "0s", "--rescan", "300ms"],
            &["--listen", &listen][..],
            args,
        ]
        .concat();
        let mut process = self.start(&all, env);
        process.url = format!("http://{listen}");
        process
    }

    /// `baler worker PLACES`.
    pub(crate) fn worker(&self, places: &[&str], args: &[&str]) -> Process {
        self.worker_with(places, args, &[])
    }

    /// The same with variables in its environment.
    pub(crate) fn worker_with(
        &self,
        places: &[&str],
        args: &[&str],
        env: &[(&'static str, String)],
    ) -> Process {
        self.start(&[&["worker"], places, args].concat(), env)
    }

    fn start(&self, args: &[&str], env: &[(&'static str, String)]) -> Process {
        let mut command = self.scene.command(args);
        command.envs(env.iter().map(|(name, value)| (name, value)));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = said
            .next()
            .unwrap_or_else(|| panic!("{args:?} ended at once"))
            .unwrap();
        assert!(
            first.starts_with("serving") || first.starts_with("working"),
            "{args:?} says {first}"
        );
        // What it says is read on, so that it never waits for a full pipe; it is shown where a test fails.
        thread::spawn(move || said.map_while(Result::ok).for_each(|line| println!("{line}")));
        Process {
            child,
            url: String::new(),
        }
    }

    /// How the root stands, as its journal says.
    pub(crate) fn status(&self) -> Value {
        self.scene.baler(&["status", "data", "--json"]).json()
    }

    /// Waits until there is nothing left to do: so many live files and no others in sight, and no open job. Then the
    /// rows must be these.
    pub(crate) fn wait_for_rest(&self, files: usize, rows: &BTreeMap<String, u64>) {
        wait_until("the folder is at rest", || {
            let status = self.status();
            status["live"]["files"] == files
                && status["jobs"].as_array().unwrap().is_empty()
                && self.scene.data_files("data").len() == files
        });
        assert!(self.scene.rows("data") == *rows, "rows were lost or doubled");
    }

    /// The worker that holds the only lease there is, once there is one.
    pub(crate) fn wait_for_lease(&self) -> String {
        let mut holder = String::new();
        wait_until("somebody holds a lease", || {
            holder = self.holder().unwrap_or_default();
            !holder.is_empty()
        });
        holder
    }

    /// The folder of the one attempt that has begun to write: `<job>-<range>-<token>`.
    pub(crate) fn wait_for_attempt(&self) -> String {
        let mut name = None;
        wait_until("an attempt has begun to write", || {
            let staging = fs::read_dir(self.scene.path("data/_baler/staging"));
            let mut folders = staging.into_iter().flatten().map(|folder| folder.unwrap());
            name = folders
                .next()
                .map(|folder| folder.file_name().into_string().unwrap());
            name.is_some()
        });
        name.unwrap()
    }

    /// The worker that holds a lease now.
    pub(crate) fn holder(&self) -> Option<String> {
        let status = self.status();
        let mut jobs = status["jobs"].as_array().unwrap().iter();
        jobs.find_map(|job| Some(job["workers"].get(0)?.as_str()?.to_owned()))
    }

    /// Jobs that were committed.
    pub(crate) fn committed(&self) -> usize {
        let status = self.status();
        let recent = status["recent"].as_array().unwrap().iter();
        recent.filter(|job| job["status"] == "committed").count()
    }
}

impl Process {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn send(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// SIGKILL; it is gone when this returns.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; answers with its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.send(Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(40) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("it does not end");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

/// A look may start a process, and whoever waits shall leave the machine to those it waits for.
pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    loop {
        let looked = Instant::now();
        if so() {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(90),
            "never came true: {what}"
        );
        let (shortest, longest) = (Duration::from_millis(30), Duration::from_millis(100));
        thread::sleep(looked.elapsed().clamp(shortest, longest));
    }
}

/// A port that nobody listens on now.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
