// Paths of files. Where there are no files, they are names only.

export { dirname, resolve } from 'node:path'
