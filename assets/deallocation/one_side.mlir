func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  "test.use"(%a) : (memref<8xf32>) -> ()
  cf.br ^bb3
^bb2:
  cf.br ^bb3
^bb3:
  "test.end"() : () -> ()
  return
}
