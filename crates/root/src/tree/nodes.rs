//! Holds the names of an unpacked archive and what they are: some 40 bytes for each file and folder.

use super::store::StoreSpan;

/// What a name is.
#[derive(Clone, Copy)]
pub(super) enum NodeContent {
    /// A folder: once sorted, the range of its children in the order.
    Dir(StoreSpan),
    /// A file: its content in the store.
    File(StoreSpan),
    /// A symbolic link: its target among the names.
    Link(StoreSpan),
    /// A hard link, until all entries are known: the path of its target, among the names.
    Same(StoreSpan),
}

/// One file, folder or link.
pub(super) struct ArchiveNode {
    pub parent: u32,
    /// In the names.
    pub name: StoreSpan,
    /// Permission bits.
    pub mode: u16,
    pub what: NodeContent,
}

impl ArchiveNode {
    pub(super) fn is_dir(&self) -> bool {
        matches!(self.what, NodeContent::Dir(_))
    }
}

/// All entries of an archive. The first is its top folder.
pub(super) struct Nodes {
    nodes: Vec<ArchiveNode>,
    names: Vec<u8>,
    /// Once sorted, the numbers of all nodes but the top, by folder and name.
    order: Vec<u32>,
}

impl Nodes {
    pub(super) fn new() -> Nodes {
        let mut nodes = Nodes {
            nodes: Vec::new(),
            names: Vec::new(),
            order: Vec::new(),
        };
        nodes.push(0, 0o755, b"", NodeContent::Dir(StoreSpan::default()));
        nodes
    }

    pub(super) fn len(&self) -> u32 {
        u32_of(self.nodes.len())
    }

    pub(super) fn get(&self, node: u32) -> Option<&ArchiveNode> {
        self.nodes.get(node as usize)
    }

    pub(super) fn set(&mut self, node: u32, what: NodeContent) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.what = what;
        }
    }

    pub(super) fn push(&mut self, parent: u32, mode: u32, name: &[u8], what: NodeContent) -> u32 {
        let name = self.store(name);
        let mode = (mode & 0o7777) as u16;
        self.nodes.push(ArchiveNode {
            parent,
            name,
            mode,
            what,
        });
        self.len() - 1
    }

    /// Stores a name, or the target of a link.
    pub(super) fn store(&mut self, name: &[u8]) -> StoreSpan {
        let start = u32_of(self.names.len());
        self.names.extend_from_slice(name);
        let len = u32_of(name.len());
        StoreSpan { start, len }
    }

    /// A stored name.
    pub(super) fn text(&self, span: StoreSpan) -> &[u8] {
        let start = span.start as usize;
        self.names.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// Sorts all nodes by folder and name; then folders know the range of their children.
    pub(super) fn sort(&mut self) {
        let mut order: Vec<u32> = (1..self.len()).collect();
        let key = |node: u32| self.get(node).map(|node| (node.parent, self.text(node.name)));
        let is_dir = |node: u32| self.get(node).is_some_and(ArchiveNode::is_dir);
        // Of a name that occurs twice the last one counts, as when tar unpacks; a folder stays because of its content.
        order.sort_unstable_by(|&a, &b| {
            key(a)
                .cmp(&key(b))
                .then_with(|| is_dir(b).cmp(&is_dir(a)))
                .then(b.cmp(&a))
        });
        order.dedup_by(|later, earlier| key(*later) == key(*earlier));
        let (mut start, mut rest) = (0, order.as_slice());
        while let Some(dir) = rest.first().and_then(|&first| self.get(first)).map(|node| node.parent) {
            let of_dir = |&&node: &&u32| self.get(node).is_some_and(|node| node.parent == dir);
            let count = rest.iter().take_while(of_dir).count();
            let len = u32_of(count);
            self.set(dir, NodeContent::Dir(StoreSpan { start, len }));
            (start, rest) = (start + len, rest.get(count..).unwrap_or_default());
        }
        self.order = order;
    }

    /// The numbers of a folder's children, sorted by name.
    pub(super) fn children(&self, dir: u32) -> &[u32] {
        match self.get(dir).map(|node| node.what) {
            Some(NodeContent::Dir(range)) => {
                let start = range.start as usize;
                self.order.get(start..start + range.len as usize).unwrap_or_default()
            }
            _ => &[],
        }
    }

    pub(super) fn child(&self, dir: u32, name: &[u8]) -> Option<u32> {
        let children = self.children(dir);
        let named = |&node: &u32| self.get(node).map_or(&[][..], |node| self.text(node.name));
        let place = children.binary_search_by(|node| named(node).cmp(name)).ok()?;
        children.get(place).copied()
    }
}

/// Counts and positions fit: the limits on entries and bytes of an archive are below 4 Gi.
pub(super) fn u32_of(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
