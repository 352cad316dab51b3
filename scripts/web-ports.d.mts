/** The file to take in place of `path` of src/; undefined for the file itself. */
export function webFileOf(path: string): string | undefined
