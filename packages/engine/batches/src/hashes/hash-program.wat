;; SipHash-2-4 with a hash of 128 bits (Aumasson and Bernstein, 2012), for many rows in one call, a set of such hashes,
;; and who was written since. JavaScript has no integers of 64 bits that are fast, and a call of Node's hash function for
;; each row takes ten times as long.
;;
;; `hash-program.ts` describes the memory, and has this program in binary form: its test compares them, and writes the
;; binary form if WRITE_BINARY is set.
(module
  (memory (export "memory") 1)

  ;; Hashes rows that follow each other from address $at on, and end before $limit.
  (func (export "hashRows")
    (param $key0 i64) (param $key1 i64)
    (param $at i32)
    (param $ends i32)    ;; address of the offset after each row, as a double; all offsets are $origin too large
    (param $origin f64)
    (param $count i32)   ;; number of rows
    (param $limit i32)
    (param $hashes i32)  ;; address of the result, 16 bytes for each row
    (local $left i32) (local $length i32)
    (local $word i64) (local $rounds i32) (local $step i32)
    (local $v0 i64) (local $v1 i64) (local $v2 i64) (local $v3 i64)

    (block $done (loop $rows
      (br_if $done (i32.eqz (local.get $count)))
      (local.set $length (i32.trunc_f64_u (f64.sub (f64.load (local.get $ends)) (local.get $origin))))
      (if (i32.gt_u (local.get $length) (local.get $limit)) (then (local.set $length (local.get $limit))))
      (local.set $length (i32.sub (local.get $length) (local.get $at)))
      (local.set $left (local.get $length))
      (local.set $v0 (i64.xor (local.get $key0) (i64.const 0x736f6d6570736575)))
      (local.set $v1 (i64.xor (local.get $key1) (i64.const 0x646f72616e646f83))) ;; the last byte: 0x6d, and 0xee for 128 bits
      (local.set $v2 (i64.xor (local.get $key0) (i64.const 0x6c7967656e657261)))
      (local.set $v3 (i64.xor (local.get $key1) (i64.const 0x7465646279746573)))
      (local.set $step (i32.const 0))

      (block $hashed (loop $steps
        (local.set $rounds (i32.const 2))
        (if (i32.ge_u (local.get $left) (i32.const 8))
          (then ;; a word of the row
            (local.set $word (i64.load (local.get $at)))
            (local.set $at (i32.add (local.get $at) (i32.const 8)))
            (local.set $left (i32.sub (local.get $left) (i32.const 8))))
          (else
            (local.set $step (i32.add (local.get $step) (i32.const 1)))
            (if (i32.eq (local.get $step) (i32.const 1))
              (then ;; the last word: up to seven bytes, and the length of the row in the highest byte
                (local.set $word (i64.or
                  (i64.shl (i64.extend_i32_u (local.get $length)) (i64.const 56))
                  (i64.and
                    (i64.load (local.get $at))
                    (i64.sub
                      (i64.shl (i64.const 1) (i64.extend_i32_u (i32.shl (local.get $left) (i32.const 3))))
                      (i64.const 1)))))
                (local.set $at (i32.add (local.get $at) (local.get $left)))
                (local.set $left (i32.const 0)))
              (else
                (local.set $word (i64.const 0))
                (local.set $rounds (i32.const 4))
                (if (i32.eq (local.get $step) (i32.const 2))
                  (then (local.set $v2 (i64.xor (local.get $v2) (i64.const 0xee))))
                  (else (local.set $v1 (i64.xor (local.get $v1) (i64.const 0xdd)))))))))

        (local.set $v3 (i64.xor (local.get $v3) (local.get $word)))
        (loop $round
          (local.set $v0 (i64.add (local.get $v0) (local.get $v1)))
          (local.set $v2 (i64.add (local.get $v2) (local.get $v3)))
          (local.set $v1 (i64.xor (i64.rotl (local.get $v1) (i64.const 13)) (local.get $v0)))
          (local.set $v3 (i64.xor (i64.rotl (local.get $v3) (i64.const 16)) (local.get $v2)))
          (local.set $v0 (i64.rotl (local.get $v0) (i64.const 32)))
          (local.set $v2 (i64.add (local.get $v2) (local.get $v1)))
          (local.set $v0 (i64.add (local.get $v0) (local.get $v3)))
          (local.set $v1 (i64.xor (i64.rotl (local.get $v1) (i64.const 17)) (local.get $v2)))
          (local.set $v3 (i64.xor (i64.rotl (local.get $v3) (i64.const 21)) (local.get $v0)))
          (local.set $v2 (i64.rotl (local.get $v2) (i64.const 32)))
          (br_if $round (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))
        (local.set $v0 (i64.xor (local.get $v0) (local.get $word)))

        (br_if $steps (i32.lt_u (local.get $step) (i32.const 2)))
        (i64.store (local.get $hashes)
          (i64.xor (i64.xor (local.get $v0) (local.get $v1)) (i64.xor (local.get $v2) (local.get $v3))))
        (local.set $hashes (i32.add (local.get $hashes) (i32.const 8)))
        (br_if $steps (i32.eq (local.get $step) (i32.const 2)))))

      (local.set $ends (i32.add (local.get $ends) (i32.const 8)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $rows))))

  ;; Looks hashes up in the set at address 0: a table of $slots words with the first half of each hash, or 0 in an empty
  ;; slot. The second half of a hash tells where the search for it begins. At least one slot is empty.
  ;;
  ;; Stores a byte for each hash at $found: 1 if the set has it. If $adds, the set then has all of them. Returns how many
  ;; it did not have.
  (func (export "look")
    (param $hashes i32) (param $count i32) (param $found i32) (param $slots i32) (param $adds i32)
    (result i32)
    (local $hash i64) (local $slot i32) (local $missing i32)

    (block $done (loop $all
      (br_if $done (i32.eqz (local.get $count)))
      (local.set $hash (i64.load (local.get $hashes)))
      (local.set $slot (i32.wrap_i64 (i64.shr_u
        (i64.mul (i64.load32_u (i32.add (local.get $hashes) (i32.const 8))) (i64.extend_i32_u (local.get $slots)))
        (i64.const 32))))
      (i32.store8 (local.get $found) (i32.const 1))

      (block $settled (loop $search
        (if (i64.eqz (i64.load (i32.shl (local.get $slot) (i32.const 3))))
          (then
            (i32.store8 (local.get $found) (i32.const 0))
            (local.set $missing (i32.add (local.get $missing) (i32.const 1)))
            (if (local.get $adds) (then (i64.store (i32.shl (local.get $slot) (i32.const 3)) (local.get $hash))))
            (br $settled)))
        (br_if $settled (i64.eq (i64.load (i32.shl (local.get $slot) (i32.const 3))) (local.get $hash)))
        (local.set $slot (i32.add (local.get $slot) (i32.const 1)))
        (if (i32.eq (local.get $slot) (local.get $slots)) (then (local.set $slot (i32.const 0))))
        (br $search)))

      (local.set $hashes (i32.add (local.get $hashes) (i32.const 16)))
      (local.set $found (i32.add (local.get $found) (i32.const 1)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $all)))
    (local.get $missing))

  ;; Of rows that follow each other from address $at on, and end before $limit, notes the users of those that the set
  ;; does not have, and makes the byte at $found 2 for those that it has but whose user may have been noted before.
  ;;
  ;; A user is noted by the bit that the hash of its ID names (`user-hash.ts`). Only plain IDs are read: not empty, and
  ;; without doubled quotes, on the first line of the row, with no quoted value before it. A row that the set has gets a
  ;; 2 as well if its own ID is not plain, or that of a preceding row that the set does not have.
  (func (export "checkUsers")
    (param $at i32) (param $ends i32) (param $origin f64) (param $count i32) (param $limit i32)
    (param $found i32)
    (param $noted i32)   ;; address of the bits
    (param $mask i32)    ;; number of the bits, less one
    (param $seed i32) (param $column i32)
    (local $end i32) (local $byte i32) (local $before i32) (local $close i32)
    (local $hash i32) (local $length i32) (local $missed i32)

    (block $done (loop $rows
      (br_if $done (i32.eqz (local.get $count)))
      (local.set $end (i32.trunc_f64_u (f64.sub (f64.load (local.get $ends)) (local.get $origin))))
      (if (i32.gt_u (local.get $end) (local.get $limit)) (then (local.set $end (local.get $limit))))
      (local.set $before (local.get $column))
      (local.set $close (i32.const 0x2c))
      (local.set $hash (local.get $seed))
      (local.set $length (i32.const 0))

      (block $next
        (block $isPlain
          (block $isNot
            (block $atId (loop $values
              (br_if $isNot (i32.ge_u (local.get $at) (local.get $end)))
              (local.set $byte (i32.load8_u (local.get $at)))
              (br_if $atId (i32.eqz (local.get $before)))
              (br_if $isNot (i32.eq (local.get $byte) (i32.const 0x22)))
              (br_if $isNot (i32.eq (local.get $byte) (i32.const 0x0a)))
              (local.set $before (i32.sub (local.get $before) (i32.eq (local.get $byte) (i32.const 0x2c))))
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br $values)))
            (if (i32.eq (local.get $byte) (i32.const 0x22))
              (then
                (local.set $close (i32.const 0x22))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))))
            (block $read (loop $bytes
              (br_if $isNot (i32.ge_u (local.get $at) (local.get $end)))
              (local.set $byte (i32.load8_u (local.get $at)))
              (br_if $read (i32.eq (local.get $byte) (local.get $close)))
              (if (i32.eq (local.get $close) (i32.const 0x2c))
                (then
                  (br_if $read (i32.eq (local.get $byte) (i32.const 0x0a)))
                  (br_if $isNot (i32.eq (local.get $byte) (i32.const 0x0d)))))
              (local.set $hash (i32.xor
                (i32.mul (i32.xor (local.get $hash) (local.get $byte)) (i32.const 0x5bd1e995))
                (i32.shr_u (local.get $hash) (i32.const 15))))
              (local.set $length (i32.add (local.get $length) (i32.const 1)))
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br $bytes)))
            (br_if $isNot (i32.eqz (local.get $length)))
            (if (i32.eq (local.get $close) (i32.const 0x22))
              (then ;; another quote would be a doubled one
                (br_if $isNot (i32.ge_u (i32.add (local.get $at) (i32.const 1)) (local.get $end)))
                (local.set $byte (i32.load8_u offset=1 (local.get $at)))))
            (br_if $isPlain (i32.eq (local.get $byte) (i32.const 0x2c)))
            (br_if $isPlain (i32.eq (local.get $byte) (i32.const 0x0a))))
          (if (i32.load8_u (local.get $found))
            (then (i32.store8 (local.get $found) (i32.const 2)))
            (else (local.set $missed (i32.const 1))))
          (br $next))
        (local.set $hash (i32.xor (local.get $hash) (local.get $length)))
        (local.set $hash (i32.xor (local.get $hash) (i32.shr_u (local.get $hash) (i32.const 13))))
        ;; From now on, $before is the address of the bit's byte, and $byte the bit.
        (local.set $before (i32.add (local.get $noted)
          (i32.shr_u (i32.and (local.get $hash) (local.get $mask)) (i32.const 3))))
        (local.set $byte (i32.shl (i32.const 1) (i32.and (local.get $hash) (i32.const 7))))
        (if (i32.load8_u (local.get $found))
          (then
            (if (i32.or (local.get $missed) (i32.and (i32.load8_u (local.get $before)) (local.get $byte)))
              (then (i32.store8 (local.get $found) (i32.const 2)))))
          (else
            (i32.store8 (local.get $before) (i32.or (i32.load8_u (local.get $before)) (local.get $byte))))))

      (local.set $at (local.get $end))
      (local.set $ends (i32.add (local.get $ends) (i32.const 8)))
      (local.set $found (i32.add (local.get $found) (i32.const 1)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $rows)))))
