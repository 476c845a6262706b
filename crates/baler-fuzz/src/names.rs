//! Names of objects and places: those that listings bring, and those that people write.

use baler::store::Location;
use baler_core::file::FilePath;
use baler_core::names::{OutputName, folder_partition, is_data_path, is_own_object, is_table_name};

/// A name, whatever it is of. What is understood is spelled in one way.
pub fn names(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let path = FilePath::in_root(text);
    let _any_answer = (is_data_path(text), is_own_object(&path), is_table_name(text));
    if let Some(name) = OutputName::parse(path.name()) {
        let format = path.name().rsplit('.').next().unwrap_or_default();
        let table = "t".into();
        let again = name
            .attempt
            .native_output(name.journal, &table, format, name.part);
        assert_eq!(again.name(), path.name(), "an output has two names");
        let partition = folder_partition(&path);
        let plain = name.attempt.output(name.journal, &partition, name.part);
        assert_eq!(OutputName::parse(plain.name()), Some(name));
        assert!(name.attempt.may_have_written(name.journal, &table, &again));
    }
    if let Ok(place) = text.parse::<Location>() {
        let spelled = place.to_string();
        match spelled.parse::<Location>() {
            Ok(again) => assert_eq!(again.to_string(), spelled, "a place has two names"),
            Err(error) => panic!("{spelled} was understood and is not any more: {error}"),
        }
    }
}
