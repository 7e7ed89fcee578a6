// What ripgrep takes for the texts that a search has kept: node bare-rg.js PATTERN DIRECTORY. Started from Node, so that its
// start is left out of the comparison.

import { spawnSync } from 'node:child_process'

const [pattern = '', directory = ''] = process.argv.slice(2)
const { status, error } = spawnSync('rg', ['--ignore-case', '--fixed-strings', '--count', pattern, directory])
// 1: nothing is found.
if (status !== 0 && status !== 1) throw error ?? new Error(`rg ended with ${status}`)
