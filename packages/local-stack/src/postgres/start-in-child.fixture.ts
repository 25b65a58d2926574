// Starts Postgres with the options given as JSON, tells the parent, and then only holds it.
import { startPostgres } from './start.ts'

const { url, port } = await startPostgres(JSON.parse(process.argv[2] ?? '{}'))
process.send?.({ url, port })
