import { globSync } from 'node:fs'
import { root } from './modules.ts'
import { longestFirst, readLastTimes, writeOrderTimes } from './tests/times.ts'

// npm run test:times: prints the seconds that each test file took when it last ran here, the longest first. With
// --write, also stores them in test/times.json, which decides the order of the files.
const present = new Set(
  globSync(['{apps,packages,test}/**/*.test.ts', 'scripts/**/*.test.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  }),
)
const times = Object.fromEntries(Object.entries(readLastTimes()).filter(([path]) => present.has(path)))
const rows = longestFirst(times)
for (const [path, seconds] of rows) console.log(`${seconds.toFixed(1).padStart(7)} s  ${path}`)
const isLong = ([path]: [string, number]) => path.endsWith('.long.test.ts')
console.log(`${total(rows.filter((row) => !isLong(row)))} s  sum of the files of npm test`)
console.log(`${total(rows.filter(isLong))} s  sum of the files that only npm run test:all has`)
if (process.argv.includes('--write')) writeOrderTimes(times)

function total(files: readonly [string, number][]): string {
  return files
    .reduce((sum, [, seconds]) => sum + seconds, 0)
    .toFixed(1)
    .padStart(7)
}
