//! Finds the process that holds the lock of a file, as far as the kernel shows it.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{major, minor};

/// The process that holds a lock on this file. `None` if the kernel does not name one: it is in another pid namespace,
/// or the lock was released.
pub fn holder(file: &File) -> Option<u32> {
    let metadata = file.metadata().ok()?;
    let (device, inode) = (metadata.dev(), metadata.ino());
    let place = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    find(&fs::read_to_string("/proc/locks").ok()?, &place)
}

/// The process on the line of a lock that is held; those that wait for it have an arrow before the kind.
fn find(locks: &str, place: &str) -> Option<u32> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let [kind, _, _, pid, at] = std::array::from_fn(|_| words.next().unwrap_or_default());
        (kind != "->" && at == place).then(|| pid.parse().ok().filter(|pid| *pid > 0)).flatten()
    };
    locks.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_on_the_line_of_the_file_and_is_not_one_that_waits() {
        let locks = "1: POSIX  ADVISORY  READ 11 fe:01:5 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 12 fe:01:7 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 13 fe:01:7 0 EOF\n4: FLOCK  ADVISORY  WRITE -1 fe:01:9 0 EOF\n";
        assert_eq!(find(locks, "fe:01:7"), Some(13));
        assert_eq!(find(locks, "fe:01:9"), None, "it is in another namespace");
        assert_eq!(find(locks, "fe:01:8"), None);
    }

    #[test]
    fn this_process_holds_the_lock_that_it_took() {
        let file = File::open(std::env::current_exe().expect("a program")).expect("it can be opened");
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockShared).expect("a lock");
        // Some file systems give their files another device than that of the lock.
        assert!(holder(&file).is_none_or(|pid| pid == std::process::id()));
    }
}
