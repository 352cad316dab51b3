// `str_replace` and `insert` in every corner: occurrences, literal replacement, snippets, line
// ends, limits. A text is stored byte for byte.

import {
  type Call,
  type Chapter,
  content,
  create,
  inserts,
  no,
  noop,
  ok,
  replaces,
  type Row,
} from './steps.ts'

const a = '/memories/a'

function several(old_str: string, lines: string): Call {
  return no(
    'str_replace',
    { path: a, old_str, new_str: 'NEW' },
    `No replacement was performed. Multiple occurrences of old_str \`${old_str}\` in lines: ` +
      `${lines}. Please ensure it is unique`,
  )
}

/** The answer is well-formed Unicode, even if the text to replace is not. */
function none(old_str: string): Call {
  const shown = old_str.toWellFormed()
  return no(
    'str_replace',
    { path: a, old_str, new_str: 'NEW' },
    `No replacement was performed, old_str \`${shown}\` did not appear verbatim in ${a}.`,
  )
}

const occurrences: readonly Row[] = [
  ['twice on one line', create(a, 'x x\n'), several('x', '1, 1'), content('/a', 'x x\n')],
  ['on two lines', create(a, 'x\nx\n'), several('x', '1, 2')],
  ['in order', create(a, '-\nx\n-\nx x\n'), several('x', '2, 4, 4')],
  ['overlapping', create(a, 'aaa'), several('aa', '1, 1')],
  ['overlapping over lines', create(a, 'a\na\na\n'), several('a\na', '1, 2')],
  ['every start of a run', create(a, 'aaaa'), several('aa', '1, 1, 1')],
  ['newlines alone', create(a, '\n\n\n'), several('\n', '1, 2, 3')],
  ['several lines each, named by the first', create(a, 'x\ny\n-\nx\ny\n'), several('x\ny', '1, 4')],
  ['case differs', create(a, 'X'), none('x')],
  ['white space differs', create(a, 'a  b'), none('a b')],
  ['line ends differ', create(a, 'a\r\nb'), none('a\nb')],
  ['the normalisation differs', create(a, '\u00e9'), none('e\u0301')],
  ['longer than the file', create(a, 'a'), none('aa')],
  ['in an empty file', create(a), none('x')],
  [
    'more than 1,000 are not listed all',
    create(a, 'x'.repeat(5000)),
    several('x', Array.from({ length: 1000 }, () => 1).join(', ')),
  ],
  ['a pattern is no pattern', create(a, 'axb'), none('a.b')],
  ['half of a surrogate pair, high', create(a, '\u{1f600}'), none('\ud83d')],
  ['half of a surrogate pair, low', create(a, '\u{1f600}'), none('\ude00')],
  ['text up to the middle of a pair', create(a, 'x\u{1f600}'), none('x\ud83d')],
  ['text from the middle of a pair', create(a, '\u{1f600}x'), none('\ude00x')],
  [
    'a whole pair is found',
    create(a, '\u{1f600}'),
    replaces(a, ['\u{1f600}', '\u{1f601}'], 1, ['\u{1f601}']),
  ],
  [
    'an accent of its own is found',
    create(a, 'e\u0301'),
    replaces(a, ['\u0301', ''], 1, ['e']),
    content('/a', 'e'),
  ],
]

const literal = ['$&', '$1', '$$', '$`', "$'", '\\n', '\\1', '%s', '`', '${x}', '</x>']
const replacement: readonly Row[] = [
  ...literal.map((text): Row => [
    `new_str ${text} is literal`,
    create(a, 'a-b'),
    replaces(a, ['-', text], 1, [`a${text}b`]),
    content('/a', `a${text}b`),
  ]),
  ...['.*', '(', '[', '\\', '$', '^', '|', 'a{2}'].map((text): Row => [
    `old_str ${text} is literal`,
    create(a, `<${text}>`),
    replaces(a, [text, 'x'], 1, ['<x>']),
  ]),
  [
    'new_str left out deletes',
    create(a, 'a-b'),
    replaces(a, ['-'], 1, ['ab']),
    content('/a', 'ab'),
  ],
  ['new_str empty deletes', create(a, 'a-b'), replaces(a, ['-', ''], 1, ['ab'])],
  [
    'new_str undefined deletes',
    create(a, 'a-b'),
    ok('str_replace', { path: a, old_str: '-', new_str: undefined }, /\n {5}1\tab$/),
    content('/a', 'ab'),
  ],
  [
    'everything can be deleted',
    create(a, 'a\nb\n'),
    replaces(a, ['a\nb\n'], 1, ['']),
    content('/a', ''),
  ],
  [
    'old_str may span lines',
    create(a, '1\n2\n3\n4\n'),
    replaces(a, ['2\n3', 'x'], 1, ['1', 'x', '4']),
    content('/a', '1\nx\n4\n'),
  ],
  [
    'old_str may take a newline alone',
    create(a, 'a\nb'),
    replaces(a, ['\n', ' '], 1, ['a b']),
    content('/a', 'a b'),
  ],
  [
    'the final newline can go',
    create(a, 'a\nb\n'),
    replaces(a, ['b\n', 'b'], 1, ['a', 'b']),
    content('/a', 'a\nb'),
  ],
  [
    'carriage returns stay',
    create(a, 'a\r\nb\r\n'),
    replaces(a, ['a\r\n', 'x\r\n'], 1, ['x\r', 'b\r']),
    content('/a', 'x\r\nb\r\n'),
  ],
  [
    'equal text changes nothing',
    create(a, 'a\nb'),
    noop(replaces(a, ['a\nb', 'a\nb'], 1, ['a', 'b'])),
  ],
]

const nine = '1\n2\n3\n4\n5\n6\n7\n8\n9\n'
const snippets: readonly Row[] = [
  [
    'two lines before and after',
    create(a, nine),
    replaces(a, ['5', 'x'], 3, ['3', '4', 'x', '6', '7']),
  ],
  ['at the beginning', create(a, nine), replaces(a, ['1', 'x'], 1, ['x', '2', '3'])],
  ['at the second line', create(a, nine), replaces(a, ['2', 'x'], 1, ['1', 'x', '3', '4'])],
  ['at the end', create(a, nine), replaces(a, ['9', 'x'], 7, ['7', '8', 'x'])],
  [
    'all changed lines are covered',
    create(a, nine),
    replaces(a, ['5', 'x\ny\nz'], 3, ['3', '4', 'x', 'y', 'z', '6', '7']),
  ],
  [
    'several lines become one',
    create(a, nine),
    replaces(a, ['4\n5\n6', 'x'], 2, ['2', '3', 'x', '7', '8']),
  ],
  [
    'lines that go leave the line where they were',
    create(a, nine),
    replaces(a, ['4\n5\n6\n'], 2, ['2', '3', '7', '8', '9']),
  ],
  ['the last line goes', create(a, nine), replaces(a, ['9\n'], 7, ['7', '8'])],
  [
    'a final newline shows no extra row',
    create(a, '1\n2'),
    replaces(a, ['2', '2\n'], 1, ['1', '2']),
  ],
  ['an emptied file shows an empty row 1', create(a, 'x'), replaces(a, ['x'], 1, [''])],
  [
    'numbers stay aligned past 9',
    create(a, 'x\n'.repeat(10) + 'y\n'),
    replaces(a, ['y', 'z'], 9, ['x', 'x', 'z']),
  ],
]

function refusesLine(insert_line: number, lines: number): Call {
  return no(
    'insert',
    { path: a, insert_line, insert_text: 'x' },
    `Error: Invalid \`insert_line\` parameter: ${insert_line}. ` +
      `It should be within the range of lines of the file: [0, ${lines}]`,
  )
}

/** file, line, text, file afterwards */
const insertions: readonly (readonly [string, number, string, string])[] = [
  ['a\nb\n', 0, 'x', 'x\na\nb\n'],
  ['a\nb\n', 1, 'x', 'a\nx\nb\n'],
  ['a\nb\n', 2, 'x', 'a\nb\nx\n'],
  ['a\nb', 0, 'x', 'x\na\nb'],
  ['a\nb', 1, 'x', 'a\nx\nb'],
  ['a\nb', 2, 'x', 'a\nb\nx'],
  ['a\n', 1, 'b', 'a\nb\n'],
  ['a', 1, 'b', 'a\nb'],
  ['a\n', 1, 'b\n', 'a\nb\n'],
  ['a', 1, 'b\n', 'a\nb'],
  ['a', 0, 'b\n', 'b\na'],
  ['a\n', 1, 'b\n\n', 'a\nb\n\n'],
  ['a\n', 0, 'b\n\n', 'b\n\na\n'],
  ['a\n', 1, 'b\nc', 'a\nb\nc\n'],
  ['a\n', 0, 'b\nc\n', 'b\nc\na\n'],
  ['a\n', 1, '', 'a\n\n'],
  ['a\n', 1, '\n', 'a\n\n'],
  ['a\n', 0, '', '\na\n'],
  ['a', 1, '', 'a\n'],
  ['\n', 0, 'x', 'x\n\n'],
  ['\n', 1, 'x', '\nx\n'],
  ['', 0, 'x', 'x'],
  ['', 0, 'x\n', 'x\n'],
  ['', 0, 'x\ny\n', 'x\ny\n'],
  ['', 0, '\n', '\n'],
  ['a\r\nb\r\n', 1, 'x', 'a\r\nx\nb\r\n'],
  ['a\r\nb\r\n', 1, 'x\r\n', 'a\r\nx\r\nb\r\n'],
  ['a\n\n', 2, 'x', 'a\n\nx\n'],
  ['a\n', 1, '$&', 'a\n$&\n'],
  ['a\n', 1, '\u{1f600}', 'a\n\u{1f600}\n'],
]

const refusedLines: readonly Row[] = [
  ['one past the last line', create(a, 'a\nb\n'), refusesLine(3, 2)],
  ['a final newline is no line', create(a, 'a\n'), refusesLine(2, 1)],
  ['no final newline', create(a, 'a'), refusesLine(2, 1)],
  ['an empty file has none', create(a), refusesLine(1, 0)],
  ['negative', create(a, 'a'), refusesLine(-1, 1)],
  ['far away', create(a, 'a'), refusesLine(1e9, 1)],
  [
    'an empty text into an empty file changes nothing',
    create(a),
    noop(inserts(a, 0, '')),
    content('/a', ''),
  ],
]

const limits: readonly Row[] = [
  ['create up to the limit', create(a, 'x'.repeat(100)), content('/a', 'x'.repeat(100))],
  ['create past the limit', no('create', { path: a, file_text: 'x'.repeat(101) }, tooLarge(101))],
  [
    'bytes count, not characters',
    no('create', { path: a, file_text: 'é'.repeat(51) }, tooLarge(102)),
  ],
  [
    'str_replace past the limit',
    create(a, 'x'.repeat(99)),
    no(
      'str_replace',
      { path: a, old_str: 'x'.repeat(99), new_str: 'y'.repeat(102) },
      tooLarge(102),
    ),
    content('/a', 'x'.repeat(99)),
  ],
  [
    'insert past the limit',
    create(a, 'x'.repeat(99)),
    no('insert', { path: a, insert_line: 1, insert_text: 'y' }, tooLarge(101)),
    inserts(a, 1, ''),
    content('/a', `${'x'.repeat(99)}\n`),
  ],
  [
    'a taken path is what create says first',
    create(a, 'x'),
    no('create', { path: a, file_text: 'y'.repeat(101) }, `Error: File ${a} already exists`),
  ],
  [
    'the store is full',
    create('/memories/1'),
    create('/memories/2'),
    create('/memories/3'),
    no('create', { path: '/memories/4', file_text: '' }, /^Error: .*limit is 3 memories/),
    ok('delete', { path: '/memories/1' }, /^Successfully/),
    create('/memories/4'),
  ],
]

function tooLarge(bytes: number): string {
  return (
    `Error: ${a} would be ${bytes} bytes; the limit is 100 bytes per memory. ` +
    'Split it into smaller files.'
  )
}

const inserted = insertions.map(([before, line, text, after]): Row => [
  `${JSON.stringify(text)} into ${JSON.stringify(before)} after line ${line}`,
  create(a, before),
  inserts(a, line, text),
  content('/a', after),
])

export const editChapters: readonly Chapter[] = [
  { name: 'str_replace, occurrences', rows: occurrences },
  { name: 'str_replace', rows: replacement },
  { name: 'str_replace, snippet', rows: snippets },
  { name: 'insert', rows: inserted },
  { name: 'insert, insert_line', rows: refusedLines },
  { name: 'limits', limits: { contentBytes: 100, memories: 3 }, rows: limits },
]
