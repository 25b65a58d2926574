// A bare route as a process of its own: one upsert a request, with as many connections as the API has by default.
import fastify from 'fastify'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 })
await pool.query('create table bare_updates (user_id text primary key, attributes jsonb, updated_at timestamptz)')
const text = `
  insert into bare_updates values ($1, $2, now())
  on conflict (user_id) do update set attributes = excluded.attributes, updated_at = excluded.updated_at`

const server = fastify()
server.post<{ Body: { user_id: string; user_profiles: object[] } }>('/v2/user_profiles', async ({ body }, reply) => {
  await pool.query({ name: 'upsert', text, values: [body.user_id, JSON.stringify(body.user_profiles)] })
  return reply.code(202).send(body)
})
process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }))
