ITEM_PIPELINES = {"classes.pipelines.Dump": 900}
