export { openRedis, type RedisOptions } from './open.ts'
