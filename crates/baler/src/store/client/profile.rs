//! Profiles in `~/.aws/config` and `~/.aws/credentials`, which the `object_store` crate does not read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use object_store::aws::AmazonS3ConfigKey as Key;

use super::Plan;

/// The keys of a section.
type Section = BTreeMap<String, String>;

/// What the profile says, unless the environment has credentials of its own and names no profile.
pub(super) fn settings(plan: &Plan<'_>) -> Result<Vec<(Key, String)>, String> {
    let named = plan
        .first_of(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"])
        .map(|(_, name)| name);
    let others = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ];
    if named.is_none() && plan.first_of(&others).is_some() {
        return Ok(Vec::new());
    }
    let name = named.unwrap_or("default");
    match load(plan, name)? {
        Some(section) => usable(name, &section, plan.variable("AWS_ACCESS_KEY_ID").is_some()),
        None if named.is_some() => Err(format!(
            "there is no profile {name} in the files of `aws configure`; correct AWS_PROFILE or add it"
        )),
        None => Ok(Vec::new()),
    }
}

/// The profile of that name from both files; credentials win.
fn load(plan: &Plan<'_>, name: &str) -> Result<Option<Section>, String> {
    let home = plan
        .first_of(&["HOME", "USERPROFILE"])
        .map(|(_, home)| Path::new(home));
    let file = |variable: &str, default: &str| match plan.variable(variable) {
        Some(path) => Some(PathBuf::from(path)),
        None => Some(home?.join(".aws").join(default)),
    };
    let in_config = match name {
        "default" => vec!["default".to_owned(), "profile default".to_owned()],
        name => vec![format!("profile {name}")],
    };
    let mut found: Option<Section> = None;
    let files = [
        (file("AWS_CONFIG_FILE", "config"), in_config),
        (
            file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            vec![name.to_owned()],
        ),
    ];
    for (path, titles) in files {
        let Some(path) = path else { continue };
        let mut sections = parse(&read(&path)?);
        for section in titles.iter().filter_map(|title| sections.remove(title)) {
            found.get_or_insert_default().extend(section);
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| format!("cannot read {}: {error}", path.display())),
    }
}

fn parse(text: &str) -> BTreeMap<String, Section> {
    let mut sections = BTreeMap::new();
    let mut title = String::new();
    for line in text.lines() {
        // An indented line belongs to a setting that has settings of its own; none that is used here has.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let inside = rest.split(']').next().unwrap_or_default();
            title = inside.split_whitespace().collect::<Vec<_>>().join(" ");
            sections.entry(title.clone()).or_insert_with(Section::new);
        } else if let Some((key, value)) = line.split_once('=') {
            let value = value.split(" #").next().unwrap_or_default().trim();
            let section = sections.entry(title.clone()).or_insert_with(Section::new);
            section.insert(key.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
    sections
}

/// What of a profile is taken over. A profile whose credentials cannot be had is an error, unless others are there.
fn usable(name: &str, section: &Section, has_credentials: bool) -> Result<Vec<(Key, String)>, String> {
    let mut keys = vec![("region", Key::Region), ("endpoint_url", Key::Endpoint)];
    let web_identity = section.contains_key("web_identity_token_file");
    if has_credentials {
        // The environment's key wins, and goes with no other's token.
    } else if section.contains_key("aws_access_key_id") && !section.contains_key("role_arn") {
        keys.extend([
            ("aws_access_key_id", Key::AccessKeyId),
            ("aws_secret_access_key", Key::SecretAccessKey),
            ("aws_session_token", Key::Token),
        ]);
    } else if web_identity {
        keys.extend([
            ("web_identity_token_file", Key::WebIdentityTokenFile),
            ("role_arn", Key::RoleArn),
            ("role_session_name", Key::RoleSessionName),
        ]);
    } else if let Some(other) = unknown_source(section) {
        return Err(format!(
            "the profile {name} gets its credentials by {other}, which Baler does not do; run \
             `eval \"$(aws configure export-credentials --profile {name} --format env)\"` first"
        ));
    }
    let taken = keys
        .into_iter()
        .filter_map(|(from, to)| Some((to, section.get(from)?.clone())));
    Ok(taken.collect())
}

fn unknown_source(section: &Section) -> Option<&'static str> {
    let sources = [
        "role_arn",
        "credential_process",
        "sso_session",
        "sso_start_url",
        "login_session",
    ];
    sources.into_iter().find(|source| section.contains_key(*source))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::client::{HttpConnector, ReqwestConnector};

    use super::*;
    use crate::store::{Location, OutputSettings, Variables};

    const CONFIG: &str = "\
[default]
region = eu-west-1

# the lab
[profile lab]
region=us-west-2
endpoint_url = https://s3.lab.example  # ours
s3 =
    max_concurrent_requests = 20
[profile desk]
sso_session = corp
[profile pod]
role_arn = arn:aws:iam::1:role/r
web_identity_token_file = /var/token
";
    const CREDENTIALS: &str = "\
[default]
aws_access_key_id = AKD
aws_secret_access_key = SD
[lab]
aws_access_key_id = AKL
aws_secret_access_key = S=L
aws_session_token = TL
";

    fn read_with(variables: &[(&str, &str)]) -> Result<Vec<(Key, String)>, String> {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join(".aws");
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("config"), CONFIG).expect("a file");
        std::fs::write(folder.join("credentials"), CREDENTIALS).expect("a file");
        let mut all = Variables::from([("HOME".to_owned(), home.path().display().to_string())]);
        all.extend(
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let Ok(Location::Bucket(url)) = "s3://b".parse() else {
            panic!("a bucket")
        };
        let network: Arc<dyn HttpConnector> = Arc::new(ReqwestConnector::default());
        let plan = Plan {
            url: &url,
            variables: &all,
            settings: &OutputSettings::default(),
            connector: &network,
        };
        settings(&plan)
    }

    fn pair(key: Key, value: &str) -> (Key, String) {
        (key, value.to_owned())
    }

    #[test]
    fn the_default_profile_counts_when_nothing_else_is_there() {
        let expected = vec![
            pair(Key::Region, "eu-west-1"),
            pair(Key::AccessKeyId, "AKD"),
            pair(Key::SecretAccessKey, "SD"),
        ];
        assert_eq!(read_with(&[]), Ok(expected));
        assert_eq!(read_with(&[("AWS_ACCESS_KEY_ID", "x")]), Ok(Vec::new()));
    }

    #[test]
    fn a_named_profile_is_read_from_both_files() {
        let expected = vec![
            pair(Key::Region, "us-west-2"),
            pair(Key::Endpoint, "https://s3.lab.example"),
            pair(Key::AccessKeyId, "AKL"),
            pair(Key::SecretAccessKey, "S=L"),
            pair(Key::Token, "TL"),
        ];
        assert_eq!(read_with(&[("AWS_PROFILE", "lab")]), Ok(expected));
    }

    #[test]
    fn the_environments_key_never_meets_a_profiles_token() {
        let read = read_with(&[("AWS_PROFILE", "lab"), ("AWS_ACCESS_KEY_ID", "x")]).expect("settings");
        assert_eq!(
            read,
            [
                pair(Key::Region, "us-west-2"),
                pair(Key::Endpoint, "https://s3.lab.example")
            ]
        );
    }

    #[test]
    fn a_role_by_web_identity_is_taken_and_others_say_what_to_do() {
        let pod = read_with(&[("AWS_PROFILE", "pod")]).expect("settings");
        assert!(pod.contains(&pair(Key::WebIdentityTokenFile, "/var/token")));
        let words = read_with(&[("AWS_PROFILE", "desk")]).expect_err("no way to log in");
        assert!(words.contains("export-credentials --profile desk"), "{words}");
        assert!(
            read_with(&[("AWS_PROFILE", "none")])
                .expect_err("no profile")
                .contains("no profile none")
        );
    }
}
