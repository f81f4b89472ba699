//! stub
use crate::{config::Config, failure::Exit};
pub(crate) async fn run(_: Config) -> anyhow::Result<Exit> {
    Ok(Exit::SUCCESS)
}
pub(crate) fn serve() -> anyhow::Result<Exit> {
    Ok(Exit::SUCCESS)
}
