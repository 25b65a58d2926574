export { openRedis, type RedisAddress, type RedisOptions } from './open.ts'
