//! The model of the machine that the tests run on, held against what the kernel says by other ways.

use machine::{CpuId, Machine, Policy};
use root::Root;

#[test]
fn this_machine_is_read() {
    let root = Root::live();
    let machine = Machine::read(&root).with_tasks(&root).with_task_cgroups(&root).with_interrupts(&root);
    println!("{:#?}", machine.kernel.preemption);
    println!("{:?} {:?}", machine.kernel.release, machine.kernel.version);
    println!("{:#?}", machine.topology);
    println!("{:#?}", machine.isolation);
    println!("{:#?}", machine.cgroups);
    println!("{:#?}", machine.interrupts);
    println!("{:#?}", machine.unreadable);
    println!("{:#?}", machine.kernel.cmdline);
    println!("{:?}", machine.kernel.config.as_ref().map(|c| c.len()));
    for task in machine.tasks.iter().flatten() {
        println!("{task:?}");
    }
}
