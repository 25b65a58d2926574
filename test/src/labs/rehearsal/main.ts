// npm run rehearse [-- --apps 8] [--imports 5] [--rows 5000] [--queue redis]: loses a deployment's database in the
// middle of imports and restores it from a dump taken under load, on this machine (docs/operations.md). Prints one JSON
// document. Exits with code 1 if an import did not end as it must.
import { parseArgs } from 'node:util'
import { rehearse } from './rehearsal.ts'

const { values } = parseArgs({
  options: {
    apps: { type: 'string', default: '8' },
    imports: { type: 'string', default: '5' },
    rows: { type: 'string', default: '5000' },
    queue: { type: 'string', default: 'postgres' },
  },
})
const [apps, importsOfApp, rowsOfImport] = [values.apps, values.imports, values.rows].map(Number)
if (!apps || !importsOfApp || !rowsOfImport || (values.queue !== 'postgres' && values.queue !== 'redis')) {
  console.error('--apps, --imports and --rows are numbers above 0, --queue is postgres or redis')
  process.exit(2)
}
const result = await rehearse({ queue: values.queue, apps, importsOfApp, rowsOfImport })
console.log(JSON.stringify(result, null, 2))
process.exit(result.violations.length > 0 ? 1 : 0)
