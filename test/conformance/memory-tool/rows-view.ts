// `view` in every corner: numbering, ranges, the line limit, truncation, listings and sizes.

import {
  type Chapter,
  create,
  deletes,
  inserts,
  lists,
  missing,
  no,
  noop,
  numbered,
  ok,
  type Row,
  shows,
  showsRange,
  type Step,
} from './steps.ts'

const five = create('/memories/a', '1\n2\n3\n4\n5\n')
const a = '/memories/a'
const header = `Here's the content of ${a} with line numbers:\n`

const files: readonly Row[] = [
  [
    'numbers are right-aligned in six columns, then a tab',
    create(a, 'x'),
    ok('view', { path: a }, `${header}     1\tx`),
  ],
  ['an empty file shows an empty row 1', create(a), ok('view', { path: a }, `${header}     1\t`)],
  ['a final newline shows no extra row', create(a, 'x\n'), shows(a, 'x')],
  ['two final newlines show one empty row', create(a, 'x\n\n'), shows(a, 'x', '')],
  ['one newline is one empty row', create(a, '\n'), shows(a, '')],
  ['a first empty line is a row', create(a, '\nx'), shows(a, '', 'x')],
  ['a carriage return stays in its line', create(a, 'x\r\ny\r\n'), shows(a, 'x\r', 'y\r')],
  [
    'only \\n splits lines',
    create(a, 'v\u000bf\u000cr\rn\u0085l\u2028p\u2029e'),
    shows(a, 'v\u000bf\u000cr\rn\u0085l\u2028p\u2029e'),
  ],
  ['a byte-order mark stays', create(a, '\ufeffx'), shows(a, '\ufeffx')],
  ['tabs stay', create(a, '\tx\ty'), shows(a, '\tx\ty')],
  ['what looks like a row stays', create(a, '     1\tx'), shows(a, '     1\tx')],
  [
    'ten lines stay aligned',
    create(a, 'x\n'.repeat(10)),
    ok('view', { path: a }, /\n {5}9\tx\n {4}10\tx$/),
  ],
  ['a hidden file can be viewed', create('/memories/.h', 'x'), shows('/memories/.h', 'x')],
  [
    'a file in node_modules can be viewed',
    create('/memories/node_modules/m', 'x'),
    shows('/memories/node_modules/m', 'x'),
  ],
  ['below a file there is nothing', create(a, 'x'), missing('/memories/a/b')],
  ['names are case-sensitive', create(a, 'x'), missing('/memories/A')],
  ['half a name is nothing', create('/memories/notes.md', 'x'), missing('/memories/notes')],
]

const bad = new RegExp(
  String.raw`^Error: Invalid ${'`'}view_range${'`'} parameter: it should be two integers`,
)
const badRange = (view_range: unknown): Step => no('view', { path: a, view_range }, bad)

const ranges: readonly Row[] = [
  ['whole', five, showsRange(a, [1, 5], 1, ['1', '2', '3', '4', '5'])],
  ['middle, with absolute numbers', five, showsRange(a, [2, 3], 2, ['2', '3'])],
  ['one line', five, showsRange(a, [4, 4], 4, ['4'])],
  ['-1 is the last line', five, showsRange(a, [4, -1], 4, ['4', '5'])],
  ['[1, -1] is everything', five, showsRange(a, [1, -1], 1, ['1', '2', '3', '4', '5'])],
  ['past the end shows what exists', five, showsRange(a, [4, 99], 4, ['4', '5'])],
  ['all past the end shows no row', five, ok('view', { path: a, view_range: [6, 9] }, header)],
  ['past the end to -1 shows no row', five, ok('view', { path: a, view_range: [6, -1] }, header)],
  ['of an empty file', create(a), showsRange(a, [1, 1], 1, [''])],
  ['an undefined range is none', create(a, 'x'), showsRange(a, undefined, 1, ['x'])],
  ['start 0 is refused', five, badRange([0, 2])],
  ['a negative start is refused', five, badRange([-1, 2])],
  ['end before start is refused', five, badRange([3, 2])],
  ['end 0 is refused', five, badRange([1, 0])],
  ['end -2 is refused', five, badRange([1, -2])],
  ['a fraction is refused', five, badRange([1.5, 2])],
  ['one number is refused', five, badRange([1])],
  ['three numbers are refused', five, badRange([1, 2, 3])],
  ['no number is refused', five, badRange([])],
  ['strings are refused', five, badRange(['1', '2'])],
  ['null in it is refused', five, badRange([1, null])],
  ['null is refused', five, badRange(null)],
  ['a number is refused', five, badRange(1)],
  ['a string is refused', five, badRange('1-2')],
  ['an object is refused', five, badRange({ 0: 1, 1: 2 })],
  ['NaN is refused', five, badRange([Number.NaN, 2])],
  ['infinity is refused', five, badRange([1, Number.POSITIVE_INFINITY])],
  ['of a missing file', no('view', { path: a, view_range: [1, 2] }, /does not exist\. Please/)],
  [
    'of a directory is refused',
    create('/memories/d/a', 'x'),
    no('view', { path: '/memories/d', view_range: [1, 2] }, /^Error: Invalid `view_range`.*direct/),
    no('view', { path: '/memories', view_range: [1, -1] }, /^Error: Invalid `view_range`.*direct/),
  ],
]

// 100 rows of 160 units with their newline are 15,999 units.
const line = 'x'.repeat(152)
const long = (count: number): string => `${line}\n`.repeat(count)
const cut = (first: number, last: number, all: number, end: number): string =>
  `${header}${numbered(
    first,
    Array.from({ length: last - first + 1 }, () => line),
  )}\n` +
  `[Truncated: showing lines ${first}-${last} of ${all}. ` +
  `Use view_range [${last + 1}, ${end}] to read on.]`

const truncation: readonly Row[] = [
  [
    'what fits is not cut',
    create(a, long(100)),
    shows(a, ...Array.from({ length: 100 }, () => line)),
  ],
  ['one row more is cut', create(a, long(101)), ok('view', { path: a }, cut(1, 100, 101, 101))],
  [
    'exactly 16,000 units are not cut',
    create(a, `${long(99)}${line}x`),
    shows(a, ...Array.from({ length: 99 }, () => line), `${line}x`),
  ],
  [
    '16,001 units are cut after a whole row',
    create(a, `${long(99)}${line}xx`),
    ok('view', { path: a }, cut(1, 99, 100, 100)),
  ],
  [
    'a range is cut too, and goes on inside itself',
    create(a, long(300)),
    ok('view', { path: a, view_range: [11, 200] }, cut(11, 110, 300, 200)),
    ok('view', { path: a, view_range: [101, 300] }, cut(101, 200, 300, 300)),
    ok('view', { path: a, view_range: [101, -1] }, cut(101, 200, 300, 300)),
    ok('view', { path: a, view_range: [101, 999] }, cut(101, 200, 300, 300)),
    showsRange(
      a,
      [201, 300],
      201,
      Array.from({ length: 100 }, () => line),
    ),
  ],
  ['a single long row is shown whole', create(a, 'y'.repeat(50_000)), shows(a, 'y'.repeat(50_000))],
  [
    'at least one row is shown',
    create(a, `${'y'.repeat(50_000)}\nz\n`),
    ok(
      'view',
      { path: a },
      `${header}     1\t${'y'.repeat(50_000)}\n` +
        '[Truncated: showing lines 1-1 of 2. Use view_range [2, 2] to read on.]',
    ),
  ],
]

const listings: readonly Row[] = [
  ['an empty root is a listing', lists('/memories', '0B')],
  [
    'the header and rows, exactly',
    create('/memories/a', 'x'),
    create('/memories/d/b', 'yy'),
    ok(
      'view',
      { path: '/memories' },
      "Here're the files and directories up to 2 levels deep in /memories, " +
        'excluding hidden items and node_modules:\n' +
        '3B\t/memories\n1B\t/memories/a\n2B\t/memories/d/\n2B\t/memories/d/b',
    ),
  ],
  [
    'two levels below the viewed directory',
    create('/memories/1/2/3/4', 'x'),
    lists('/memories', '1B', '1B 1/', '1B 1/2/'),
    lists('/memories/1', '1B', '1B 2/', '1B 2/3/'),
    lists('/memories/1/2/3', '1B', '1B 4'),
  ],
  [
    'a directory is followed at once by its rows; siblings in code-unit order',
    ...['b', 'B', 'a-b', 'a/z', 'a/y/x', 'é', 'z', '10', '9', '\u{ff5e}', '\u{1f600}'].map((name) =>
      create(`/memories/${name}`),
    ),
    lists(
      '/memories',
      '0B',
      ...['10', '9', 'B', 'a/', 'a/y/', 'a/z', 'a-b', 'b', 'z', 'é', '\u{1f600}', '\u{ff5e}'].map(
        (name) => `0B ${name}`,
      ),
    ),
  ],
  [
    'hidden items and node_modules are left out at any level but counted',
    create('/memories/.h', '1'),
    create('/memories/.d/a', '22'),
    create('/memories/node_modules/m', '333'),
    create('/memories/d/.h', '4444'),
    create('/memories/d/node_modules/m', '55555'),
    create('/memories/d/a', '666666'),
    lists('/memories', '21B', '15B d/', '6B d/a'),
    lists('/memories/d', '15B', '6B a'),
  ],
  [
    'only the exact name node_modules is left out',
    create('/memories/node_modules2', 'x'),
    create('/memories/Node_modules', 'y'),
    lists('/memories', '2B', '1B Node_modules', '1B node_modules2'),
  ],
  [
    'a file named node_modules is left out',
    create('/memories/node_modules', 'x'),
    lists('/memories', '1B'),
  ],
  [
    'a hidden directory can be listed',
    create('/memories/.d/a', 'x'),
    create('/memories/.d/.b', 'x'),
    lists('/memories/.d', '2B', '1B a'),
  ],
  [
    'node_modules can be listed',
    create('/memories/node_modules/m', 'x'),
    lists('/memories/node_modules', '1B', '1B m'),
  ],
  [
    'a directory of hidden items only is listed',
    create('/memories/d/.h', 'x'),
    lists('/memories', '1B', '1B d/'),
  ],
  [
    'a directory is gone with its last file',
    create('/memories/d/a'),
    deletes('/memories/d/a'),
    lists('/memories', '0B'),
    missing('/memories/d'),
  ],
  [
    'bytes of UTF-8 count',
    create('/memories/a', 'é\u{1f600}'),
    lists('/memories', '6B', '6B a'),
    inserts('/memories/a', 1, 'é'),
    lists('/memories', '9B', '9B a'),
  ],
  [
    'spellings of the root',
    noop(ok('view', { path: '/memories/' }, /deep in \/memories, .*\n0B\t\/memories$/)),
    noop(ok('view', { path: '/memories//' }, /deep in \/memories, .*\n0B\t\/memories$/)),
    noop(ok('view', { path: '/memories/.' }, /deep in \/memories, .*\n0B\t\/memories$/)),
    noop(ok('view', { path: '/memories/x/..' }, /deep in \/memories, .*\n0B\t\/memories$/)),
  ],
  ['names may hold spaces', create('/memories/a b', 'x'), lists('/memories', '1B', '1B a b')],
]

const sizes: readonly (readonly [bytes: number, text: string])[] = [
  [0, '0B'],
  [1, '1B'],
  [1023, '1023B'],
  [1024, '1.0K'],
  [1075, '1.0K'],
  [1076, '1.1K'],
  [1536, '1.5K'],
  [4096, '4.0K'],
  [102_400, '100.0K'],
  [1_048_524, '1023.9K'],
  [1_048_525, '1.0M'],
  [1_048_576, '1.0M'],
  [1_572_864, '1.5M'],
]

const tooMany = `File ${a} exceeds maximum line limit of 999,999 lines.`
const manyLines: readonly Row[] = [
  [
    '999,999 lines are shown',
    create(a, '\n'.repeat(999_998) + 'x'),
    showsRange(a, [999_999, -1], 999_999, ['x']),
  ],
  [
    '999,999 lines and a final newline are shown',
    create(a, '\n'.repeat(999_999)),
    showsRange(a, [999_999, -1], 999_999, ['']),
  ],
  [
    '1,000,000 lines are refused',
    create(a, '\n'.repeat(1_000_000)),
    no('view', { path: a }, tooMany),
    no('view', { path: a, view_range: [1, 2] }, tooMany),
  ],
  [
    'a line after line 999,999 is refused',
    create(a, `${'\n'.repeat(999_999)}x`),
    no('view', { path: a }, tooMany),
  ],
]

const sized = sizes.map(([bytes, text]): Row => [
  `${bytes} bytes are shown as ${text}`,
  create(a, 'x'.repeat(bytes)),
  lists('/memories', text, `${text} a`),
])

export const viewChapters: readonly Chapter[] = [
  { name: 'view of a file', rows: files },
  { name: 'view_range', rows: ranges },
  { name: 'view, truncation', rows: truncation },
  { name: 'view of a directory', rows: listings },
  {
    name: 'view of large files',
    limits: { contentBytes: 2 ** 21 },
    rows: [...sized, ...manyLines],
  },
]
