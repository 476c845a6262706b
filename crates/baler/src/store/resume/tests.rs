use std::sync::Mutex;

use object_store::memory::InMemory;
use object_store::{ObjectStoreExt, PutPayload};

use super::super::checked::Checked;
use super::super::layer::Layered;
use super::*;

/// What happens to the next bodies.
#[derive(Debug, Clone, Copy)]
enum Break {
    /// An error after so many bytes.
    Error(usize),
    /// An end after so many bytes, as if that were all.
    End(usize),
}

/// Bodies that break, and an object that may be overwritten at that moment.
#[derive(Debug, Default)]
struct Faulty {
    breaks: Mutex<Vec<Break>>,
    overwrite: bool,
}

#[async_trait]
impl Layer for Faulty {
    async fn get(&self, next: &Next, location: &Path, options: GetOptions) -> Result<GetResult> {
        let mut result = next.get_opts(location, options).await?;
        let Some(fault) = self.breaks.lock().expect("breaks").pop() else {
            return Ok(result);
        };
        let (meta, range) = (result.meta.clone(), result.range.clone());
        let (attributes, extensions) = (result.attributes.clone(), result.extensions.clone());
        let body = result.bytes().await?;
        let broken = || Error::Generic {
            store: "test",
            source: "the connection broke".into(),
        };
        let body = match fault {
            Break::Error(at) => vec![Ok(body.slice(..at)), Err(broken())],
            Break::End(at) => vec![Ok(body.slice(..at))],
        };
        if self.overwrite {
            next.put(location, PutPayload::from_static(b"QRSTUVWXYZ")).await?;
        }
        result = GetResult {
            payload: GetResultPayload::Stream(stream::iter(body).boxed()),
            meta,
            range,
            attributes,
            extensions,
        };
        Ok(result)
    }
}

async fn store(faulty: Faulty) -> (Next, Next, Arc<Meter>) {
    let memory: Next = Arc::new(InMemory::new());
    memory.put(&"a".into(), "0123456789".into()).await.expect("a put");
    let meter = Arc::new(Meter::default());
    let checked = Layered::around(Layered::around(memory, faulty), Checked);
    let resumed = Resumed {
        budget: Arc::default(),
        meter: meter.clone(),
    };
    (checked.clone(), Layered::around(checked, resumed), meter)
}

fn breaks(breaks: &[Break]) -> Faulty {
    Faulty {
        breaks: Mutex::new(breaks.to_vec()),
        overwrite: false,
    }
}

async fn read(store: &Next, options: GetOptions) -> Result<Bytes> {
    store.get_opts(&"a".into(), options).await?.bytes().await
}

#[tokio::test]
async fn a_short_body_is_noticed() {
    let (checked, _, _) = store(breaks(&[Break::End(4)])).await;
    let error = read(&checked, GetOptions::default())
        .await
        .expect_err("a short body");
    assert!(error.to_string().contains("4 of 10 bytes"), "{error}");
}

#[tokio::test]
async fn a_short_range_is_noticed() {
    let (checked, _, _) = store(breaks(&[Break::End(2)])).await;
    let error = checked
        .get_range(&"a".into(), 3..8)
        .await
        .expect_err("a short body");
    assert!(error.to_string().contains("2 of 5 bytes"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_broken_body_goes_on_where_it_broke() {
    let faults = [Break::End(3), Break::Error(2), Break::Error(4)];
    let (_, resumed, meter) = store(breaks(&faults)).await;
    let bytes = read(&resumed, GetOptions::default())
        .await
        .expect("the whole body");
    assert_eq!(bytes, "0123456789");
    assert_eq!(meter.usage().retries, 3);
}

#[tokio::test(start_paused = true)]
async fn a_broken_range_goes_on_where_it_broke() {
    let (_, resumed, _) = store(breaks(&[Break::Error(2)])).await;
    let options = GetOptions {
        range: Some(GetRange::Suffix(5)),
        ..GetOptions::default()
    };
    assert_eq!(read(&resumed, options).await.expect("the range"), "56789");
}

#[tokio::test(start_paused = true)]
async fn a_body_is_never_pieced_together_from_two_versions() {
    let faulty = Faulty {
        overwrite: true,
        ..breaks(&[Break::Error(4)])
    };
    let (_, resumed, _) = store(faulty).await;
    let error = read(&resumed, GetOptions::default())
        .await
        .expect_err("two versions");
    assert!(matches!(error, Error::Precondition { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_always_breaks_is_given_up() {
    let (_, resumed, meter) = store(breaks(&[Break::Error(0); 20])).await;
    read(&resumed, GetOptions::default()).await.expect_err("no body");
    assert_eq!(meter.usage().retries, u64::from(RESUMES_MAX));
}
