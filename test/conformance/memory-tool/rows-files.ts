// Files and directories: `create` and `rename` at an occupied path, above or below one, and the
// directories that files imply.

import {
  type Chapter,
  content,
  create,
  deletes,
  lists,
  missing,
  no,
  renames,
  replaces,
  type Row,
  shows,
  type Step,
} from './steps.ts'

function clash(old_path: string, new_path: string, text: string): Step {
  return no('rename', { old_path, new_path }, `Error: ${text}`)
}

const [a, b] = ['/memories/a', '/memories/b']

const filesAndDirectories: readonly Row[] = [
  [
    'create where a directory stands',
    create('/memories/d/a'),
    no('create', { path: '/memories/d', file_text: '' }, 'Error: File /memories/d already exists'),
    no('create', { path: '/memories/d/', file_text: '' }, 'Error: File /memories/d already exists'),
  ],
  [
    'create the root',
    no('create', { path: '/memories', file_text: '' }, 'Error: File /memories already exists'),
    no('create', { path: '/memories/', file_text: '' }, 'Error: File /memories already exists'),
  ],
  [
    'the root is no file to edit',
    no(
      'str_replace',
      { path: '/memories', old_str: 'x', new_str: 'y' },
      'Error: The path /memories does not exist. Please provide a valid path.',
    ),
    no(
      'insert',
      { path: '/memories/', insert_line: 0, insert_text: 'x' },
      'Error: The path /memories does not exist',
    ),
  ],
  [
    'create below a file',
    create(a, 'x'),
    no(
      'create',
      { path: '/memories/a/b', file_text: 'y' },
      'Error: Cannot create /memories/a/b: /memories/a is a file, not a directory',
    ),
    no(
      'create',
      { path: '/memories/a/b/c', file_text: 'y' },
      'Error: Cannot create /memories/a/b/c: /memories/a is a file, not a directory',
    ),
    lists('/memories', '1B', '1B a'),
  ],
  [
    'below a file there is nothing to change',
    create(a, 'x'),
    no('delete', { path: '/memories/a/b' }, 'Error: The path /memories/a/b does not exist'),
    no('insert', { path: '/memories/a/b', insert_line: 0, insert_text: '' }, /does not exist$/),
    no('str_replace', { path: '/memories/a/b', old_str: 'x' }, /does not exist\. Please/),
    clash('/memories/a/b', b, 'The path /memories/a/b does not exist'),
  ],
  ['create again what was deleted', create(a, '1'), deletes(a), create(a, '2'), content('/a', '2')],
  [
    'a file takes the place of a deleted directory, and back',
    create('/memories/a/b'),
    deletes(a),
    create(a),
    deletes(a),
    create('/memories/a/b'),
  ],
  [
    'an edit keeps the file in its directory',
    create('/memories/d/a', 'x'),
    replaces('/memories/d/a', ['x', 'yy'], 1, ['yy']),
    lists('/memories', '2B', '2B d/', '2B d/a'),
  ],
  ['twenty segments', create(`/memories${'/a'.repeat(20)}`, 'x')],
  ['1,024 bytes', create(`/memories/${'x'.repeat(1023)}`, 'x')],
  [
    'a name like the root',
    create('/memories/memories/memories'),
    shows('/memories/memories/memories', ''),
  ],
  ['the marker deeper down is a name like others', create('/memories/d/.anthropic-memory-store')],
  [
    'names differ by case',
    create(a, '1'),
    create('/memories/A', '2'),
    content('/a', '1'),
    content('/A', '2'),
  ],
]

const renaming: readonly Row[] = [
  ['onto itself', create(a), clash(a, a, `The destination ${a} already exists`)],
  [
    'onto itself in another spelling',
    create(a),
    clash(a, '/memories/./a/', `The destination ${a} already exists`),
  ],
  [
    'a directory onto itself',
    create('/memories/d/a'),
    clash('/memories/d', '/memories/d/', 'The destination /memories/d already exists'),
  ],
  [
    'onto a directory',
    create(a),
    create('/memories/d/b'),
    clash(a, '/memories/d', 'The destination /memories/d already exists'),
  ],
  [
    'a directory onto a directory',
    create('/memories/d/b'),
    create('/memories/e/b'),
    clash('/memories/d', '/memories/e', 'The destination /memories/e already exists'),
  ],
  [
    'a directory onto a file',
    create(a),
    create('/memories/d/b'),
    clash('/memories/d', a, `The destination ${a} already exists`),
  ],
  ['onto the root', create(a), clash(a, '/memories', 'The destination /memories already exists')],
  [
    'the only file of a directory onto the directory',
    create('/memories/d/b', 'x'),
    clash('/memories/d/b', '/memories/d', 'The destination /memories/d already exists'),
    content('/d/b', 'x'),
  ],
  [
    'the root',
    create(a),
    clash('/memories', b, 'Cannot rename the /memories directory itself'),
    clash('/memories/', '/memories/b', 'Cannot rename the /memories directory itself'),
    clash('/memories', '/memories', 'Cannot rename the /memories directory itself'),
    clash('/memories/x/..', '/memories/b/c', 'Cannot rename the /memories directory itself'),
  ],
  [
    'a directory below itself',
    create('/memories/d/a', 'x'),
    clash(
      '/memories/d',
      '/memories/d/e',
      'Cannot rename /memories/d to /memories/d/e: the destination lies below the source',
    ),
    clash(
      '/memories/d',
      '/memories/d/a',
      'Cannot rename /memories/d to /memories/d/a: the destination lies below the source',
    ),
    content('/d/a', 'x'),
  ],
  [
    'a file below itself',
    create(a, 'x'),
    clash(
      a,
      '/memories/a/b',
      `Cannot rename ${a} to ${a}/b: the destination lies below the source`,
    ),
    content('/a', 'x'),
  ],
  [
    'to a name that only begins alike',
    create('/memories/d/a', 'x'),
    renames('/memories/d', '/memories/d2'),
    renames('/memories/d2/a', '/memories/d'),
    content('/d', 'x'),
  ],
  [
    'below a file',
    create(a),
    create(b),
    clash(a, '/memories/b/c', `Cannot rename ${a} to ${b}/c: ${b} is a file, not a directory`),
    lists('/memories', '0B', '0B a', '0B b'),
  ],
  ['nothing, onto something', create(b), clash(a, b, `The path ${a} does not exist`)],
  ['nothing, onto itself', clash(a, a, `The path ${a} does not exist`)],
  ['nothing, below itself', clash(a, '/memories/a/b', `The path ${a} does not exist`)],
  [
    'nothing, onto its directory',
    clash('/memories/d/a', '/memories/d', 'The path /memories/d/a does not exist'),
  ],
  ['nothing, onto the root', clash(a, '/memories', `The path ${a} does not exist`)],
  [
    'half of a name',
    create('/memories/notes.md'),
    clash('/memories/notes', b, 'The path /memories/notes does not exist'),
  ],
  [
    'out of a directory that goes with it',
    create('/memories/d/a', 'x'),
    renames('/memories/d/a', b),
    missing('/memories/d'),
    lists('/memories', '1B', '1B b'),
  ],
  [
    'a hidden file comes to light',
    create('/memories/.a', 'x'),
    renames('/memories/.a', a),
    lists('/memories', '1B', '1B a'),
  ],
  [
    'a directory whose files would lie too deep',
    create('/memories/d/e/f', 'x'),
    clash(
      '/memories/d',
      `/memories${'/a'.repeat(19)}`,
      `Cannot rename /memories/d to /memories${'/a'.repeat(19)}: the new path of a file below it ` +
        'is refused. A path must have at most 20 segments',
    ),
    content('/d/e/f', 'x'),
  ],
  [
    'case only',
    create(a, 'x'),
    renames(a, '/memories/A'),
    content('/A', 'x'),
    content('/a', undefined),
  ],
  ['there and back', create(a, 'x'), renames(a, b), renames(b, a), content('/a', 'x')],
]

export const fileChapters: readonly Chapter[] = [
  { name: 'files and directories', rows: filesAndDirectories },
  { name: 'rename', rows: renaming },
]
