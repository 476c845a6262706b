//! The program where its users run it: the same stories on a directory, on SeaweedFS and on Azurite. Without servers
//! those of theirs are skipped, and say so; `cargo xtask test` installs them.

/// Tells each story once on every place. A story takes the place by value.
macro_rules! on_every_place {
    ($($story:ident),+ $(,)?) => {
        mod on_a_directory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story($crate::stores::place::Place::directory()).await;
            })+
        }
        on_every_store!($($story),+);
    };
}

/// The same on stores alone.
macro_rules! on_every_store {
    ($($story:ident),+ $(,)?) => {
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
                if let Some(place) = $crate::stores::place::Place::azurite().await {
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
mod faults;
mod front_door;
mod native;
mod overwrites;
mod refusals;
mod requests;
mod roots;
mod store_kills;
mod storm;
mod together;
