// Starts Postgres with the options in the argument (JSON), sends the URL and the port to the parent, and keeps Postgres
// running.
import { startPostgres } from './start.ts'

const { url, port } = await startPostgres(JSON.parse(process.argv[2] ?? '{}'))
process.send?.({ url, port })
