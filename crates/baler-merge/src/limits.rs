//! Every bound on what a file may claim before it is believed, and every share of the memory budget.

/// A footer longer than this is refused unread.
pub(crate) const FOOTER_BYTES_MAX: u64 = 64 << 20;
/// One read fetches this much of a file's end; most footers are shorter.
pub(crate) const FOOTER_GUESS_BYTES: u64 = 64 << 10;
/// Inputs up to this are read whole, in one read.
pub(crate) const SMALL_FILE_BYTES: u64 = 4 << 20;
/// A packed dictionary up to this is worth keeping as one.
pub(crate) const SMALL_DICTIONARY_BYTES: i64 = 64 << 10;
/// Column chunks with less between them are read in one read.
pub(crate) const GAP_BYTES_MAX: u64 = 64 << 10;
/// Reads under way while inputs are opened.
pub(crate) const READS_AT_ONCE: usize = 16;
/// Groups within groups; each level costs stack in every recursive reader.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 64;
/// Groups and columns together.
pub(crate) const SCHEMA_ELEMENTS_MAX: usize = 100_000;
/// Structures within structures in a footer or page header, schema aside.
pub(crate) const THRIFT_DEPTH_MAX: usize = 24;
/// Row groups of a file.
pub(crate) const ROW_GROUPS_MAX: usize = 100_000;
/// Column chunks of a file: each takes half a kilobyte while its footer is held.
pub(crate) const CHUNKS_MAX: usize = 2_000_000;
/// Words that a file carries about itself: how many, and how long they are together.
pub(crate) const KEY_VALUES_MAX: usize = 10_000;
/// The bytes of these words; the Arrow schema of a wide table is the longest of them.
pub(crate) const KEY_VALUE_BYTES_MAX: usize = 16 << 20;
/// The length of a value of fixed length: a null takes as much as a value.
pub(crate) const FIXED_BYTES_MAX: i32 = 1 << 20;
/// Elements of a list of fixed length, those of lists inside it multiplied: a null takes as many as a list.
pub(crate) const FIXED_LIST_MAX: u64 = 1 << 16;
/// A page index longer than this is not read.
pub(crate) const PAGE_INDEX_BYTES_MAX: u64 = 16 << 20;
/// A page header longer than this is refused; bounds of long strings make it as long.
pub(crate) const PAGE_HEADER_BYTES_MAX: usize = 16 << 20;
/// A page that unpacks to more is refused: it must fit in memory whole.
pub(crate) const PAGE_BYTES_MAX: u64 = 512 << 20;
/// Values of a page, nulls too: runs of equal ones take next to nothing in a file, and four bytes each while they are decoded.
pub(crate) const PAGE_VALUES_MAX: u64 = 128 << 20;
/// Values of a nested column in a row group: all of them may lie in one row, which is decoded whole.
pub(crate) const NESTED_VALUES_MAX: i64 = 1 << 30;
/// No codec packs tighter than its ratio; a page that claims to is lying about its size.
pub(crate) const RATIO_MAX: u64 = 1_100;
/// The ratio of Zstandard and Brotli, whose repeated blocks cost a few bytes.
pub(crate) const RATIO_MAX_DENSE: u64 = 40_000;
/// What a page may unpack to whatever its packed size.
pub(crate) const PAGE_BYTES_FREE: u64 = 1 << 20;
/// Strings in key ranges are cut here.
pub(crate) const KEY_STRING_BYTES_MAX: usize = 64;
/// A page of strings is cut at about this.
pub(crate) const PAGE_BYTES: usize = 1 << 20;
/// Rows in a page: small enough to skip by, large enough to pack well.
pub(crate) const PAGE_ROWS: usize = 20_000;
/// A merge with less memory than this cannot hold one page of each column; it is given this much.
pub(crate) const MEMORY_BYTES_MIN: u64 = 8 << 20;
/// A window has at least so many rows, however little memory there is.
pub(crate) const WINDOW_ROWS_MIN: usize = 64;
/// Row groups that go past the merge are cut so that an output holds at least so many: it can be closed near its target.
pub(crate) const STRETCHES_PER_OUTPUT: u64 = 8;
/// More threads than this gain nothing in one merge.
pub(crate) const THREADS_MAX: usize = 64;
