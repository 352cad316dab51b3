// The documented answers of the memory tool, one row for each (docs/MEMORY-TOOL.md, "Answers").

import {
  type Chapter,
  content,
  create,
  deletes,
  inserts,
  lists,
  missing,
  no,
  noop,
  renames,
  replaces,
  type Row,
  shows,
} from './steps.ts'

const rows: readonly Row[] = [
  ['view: a file', create('/memories/a', 'x\ny\n'), shows('/memories/a', 'x', 'y')],
  ['view: a directory', create('/memories/a', 'xyz'), lists('/memories', '3B', '3B a')],
  ['view: nothing there', missing('/memories/a')],
  ['create: a file', create('/memories/a', 'text'), content('/a', 'text')],
  [
    'create: in directories that are not there',
    create('/memories/a/b/c', 'text'),
    content('/a/b/c', 'text'),
  ],
  [
    'create: a file is there',
    create('/memories/a', '1'),
    no('create', { path: '/memories/a', file_text: '2' }, 'Error: File /memories/a already exists'),
    content('/a', '1'),
  ],
  [
    'str_replace: one occurrence',
    create('/memories/a', 'one\ntwo\nthree\n'),
    replaces('/memories/a', ['two', '2'], 1, ['one', '2', 'three']),
    content('/a', 'one\n2\nthree\n'),
  ],
  [
    'str_replace: nothing there',
    no(
      'str_replace',
      { path: '/memories/a', old_str: 'x', new_str: 'y' },
      'Error: The path /memories/a does not exist. Please provide a valid path.',
    ),
  ],
  [
    'str_replace: a directory',
    create('/memories/d/a', 'x'),
    no(
      'str_replace',
      { path: '/memories/d', old_str: 'x', new_str: 'y' },
      'Error: The path /memories/d does not exist. Please provide a valid path.',
    ),
  ],
  [
    'str_replace: no occurrence',
    create('/memories/a', 'x'),
    no(
      'str_replace',
      { path: '/memories/a', old_str: 'y', new_str: 'z' },
      'No replacement was performed, old_str `y` did not appear verbatim in /memories/a.',
    ),
  ],
  [
    'str_replace: several occurrences',
    create('/memories/a', 'x\ny\nx\n'),
    no(
      'str_replace',
      { path: '/memories/a', old_str: 'x', new_str: 'z' },
      'No replacement was performed. Multiple occurrences of old_str `x` in lines: 1, 3. ' +
        'Please ensure it is unique',
    ),
  ],
  [
    'insert: after a line',
    create('/memories/a', 'one\nthree\n'),
    inserts('/memories/a', 1, 'two'),
    content('/a', 'one\ntwo\nthree\n'),
  ],
  [
    'insert: nothing there',
    no(
      'insert',
      { path: '/memories/a', insert_line: 0, insert_text: 'x' },
      'Error: The path /memories/a does not exist',
    ),
  ],
  [
    'insert: a directory',
    create('/memories/d/a', 'x'),
    no(
      'insert',
      { path: '/memories/d', insert_line: 0, insert_text: 'x' },
      'Error: The path /memories/d does not exist',
    ),
  ],
  [
    'insert: a line that is not there',
    create('/memories/a', 'a\nb\n'),
    no(
      'insert',
      { path: '/memories/a', insert_line: 3, insert_text: 'x' },
      'Error: Invalid `insert_line` parameter: 3. ' +
        'It should be within the range of lines of the file: [0, 2]',
    ),
  ],
  ['delete: a file', create('/memories/a'), deletes('/memories/a'), missing('/memories/a')],
  [
    'delete: a directory with everything in it',
    create('/memories/d/a'),
    create('/memories/d/e/b'),
    create('/memories/f'),
    deletes('/memories/d'),
    lists('/memories', '0B', '0B f'),
  ],
  [
    'delete: nothing there',
    no('delete', { path: '/memories/a' }, 'Error: The path /memories/a does not exist'),
  ],
  [
    'delete: the root',
    create('/memories/a'),
    no('delete', { path: '/memories' }, 'Error: Cannot delete the /memories directory itself'),
    content('/a', ''),
  ],
  [
    'rename: a file',
    create('/memories/a', 'x'),
    renames('/memories/a', '/memories/b'),
    content('/a', undefined),
    content('/b', 'x'),
  ],
  [
    'rename: into directories that are not there',
    create('/memories/a', 'x'),
    renames('/memories/a', '/memories/d/e/b'),
    content('/d/e/b', 'x'),
  ],
  [
    'rename: a directory with everything in it',
    create('/memories/d/a', '1'),
    create('/memories/d/e/b', '2'),
    renames('/memories/d', '/memories/x/y'),
    lists('/memories', '2B', '2B x/', '2B x/y/'),
    content('/x/y/e/b', '2'),
  ],
  [
    'rename: nothing there',
    no(
      'rename',
      { old_path: '/memories/a', new_path: '/memories/b' },
      'Error: The path /memories/a does not exist',
    ),
  ],
  [
    'rename: onto a file',
    create('/memories/a', '1'),
    create('/memories/b', '2'),
    no(
      'rename',
      { old_path: '/memories/a', new_path: '/memories/b' },
      'Error: The destination /memories/b already exists',
    ),
    content('/a', '1'),
    content('/b', '2'),
  ],
  [
    'rename: the root',
    create('/memories/a'),
    no(
      'rename',
      { old_path: '/memories', new_path: '/memories/b' },
      'Error: Cannot rename the /memories directory itself',
    ),
  ],
  [
    'a change that changes nothing succeeds and makes no version',
    create('/memories/a', 'x\n'),
    noop(replaces('/memories/a', ['x', 'x'], 1, ['x'])),
  ],
]

export const answerChapters: readonly Chapter[] = [{ name: 'the documented answers', rows }]
