// npm run bench [-- name]: measures against yardsticks in the same run, prints ratios, and exits 1 where one misses its target.
import { benchApi } from './api.ts'
import { benchDeletions } from './deletions.ts'
import { benchLimiter } from './limiter.ts'

const benches: Record<string, () => Promise<boolean>> = {
  api: benchApi,
  deletions: benchDeletions,
  limiter: benchLimiter,
}

const name = process.argv[2] ?? 'api'
const bench = benches[name]
if (bench === undefined) {
  console.error(`There is no benchmark ${name}; there are: ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}
process.exitCode = (await bench()) ? 0 : 1
