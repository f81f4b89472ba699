//! Teams of agents with a scripted model client, over real commands.
#![forbid(unsafe_code)]

mod it {
    mod stage;
    mod teams;
    mod turns;
}
