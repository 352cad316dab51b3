// Paths of files. Where there are no files, they are names only.

export { basename, dirname, resolve } from 'node:path'
