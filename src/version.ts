// The version of the program, for those who cannot read package.json from where they run.

/** The same as in package.json; a test compares them. */
export const VERSION = '0.1.0'
