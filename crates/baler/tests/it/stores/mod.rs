//! The program where its users run it: the same stories on a directory, on SeaweedFS and on Azurite. Without servers
//! those of theirs are skipped, and say so; `cargo xtask test` installs them.

/// Tells each story once on every place. A story takes the place by value.
macro_rules! on_every_place {
    ($($story:ident),+ $(,)?) => {
        on_a_directory!($($story),+);
        on_stores!(azurite: $($story),+);
    };
}

/// The same, but on Azurite in a soak only: for stories whose requests other stories send there too.
macro_rules! on_most_places {
    ($($story:ident),+ $(,)?) => {
        on_a_directory!($($story),+);
        on_stores!(azurite_in_a_soak: $($story),+);
    };
}

/// The same on stores alone.
macro_rules! on_every_store {
    ($($story:ident),+ $(,)?) => {
        on_stores!(azurite: $($story),+);
    };
}

macro_rules! on_a_directory {
    ($($story:ident),+) => {
        mod on_a_directory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story($crate::stores::place::Place::directory()).await;
            })+
        }
    };
}

macro_rules! on_stores {
    ($azurite:ident: $($story:ident),+) => {
        mod on_seaweed {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                if let Some(place) = $crate::stores::place::Place::seaweed().await {
                    super::$story(place).await;
                }
            })+
        }
        mod on_azurite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                if let Some(place) = $crate::stores::place::Place::$azurite().await {
                    super::$story(place).await;
                }
            })+
        }
    };
}

mod place;
mod running;

mod adoption;
mod attrition;
mod audits;
mod chaos;
mod faults;
mod front_door;
mod mending;
mod native;
mod overwrites;
mod receipts;
mod refusals;
mod requests;
mod roots;
mod store_kills;
mod storm;
mod together;
mod torture;
mod undo;
mod verifying;
