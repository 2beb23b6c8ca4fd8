func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  %r = scf.execute_region -> memref<8xf32> {
    %b = memref.alloc() : memref<8xf32>
    cf.cond_br %c, ^bb1(%a : memref<8xf32>), ^bb1(%b : memref<8xf32>)
  ^bb1(%t: memref<8xf32>):
    scf.yield %t : memref<8xf32>
  }
  "test.use"(%r) : (memref<8xf32>) -> ()
  "test.end"() : () -> ()
  return
}
