// The yardstick for the API: a bare Fastify route that does one INSERT, on the Postgres and with the pool size of the
// API.
import fastify from 'fastify'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
await pool.query('create table if not exists yardstick (user_id text, attributes jsonb)')

const server = fastify()
server.post<{ Body: { user_id: string } }>('/', async (request, reply) => {
  await pool.query('insert into yardstick (user_id, attributes) values ($1, $2)', [request.body.user_id, request.body])
  return reply.code(202).send(request.body)
})
const url = await server.listen({ host: '127.0.0.1', port: 0 })
process.send?.(url)
process.once('disconnect', () => process.exit(0))
