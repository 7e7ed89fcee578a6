// Where the conformance data is. It is not part of the project, so tests that need it are skipped where it is missing.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../../shared/conformance', import.meta.url))

/** Path of the conformance folder; `undefined` when it does not exist. */
export const CONFORMANCE: string | undefined = existsSync(folder) ? folder : undefined
